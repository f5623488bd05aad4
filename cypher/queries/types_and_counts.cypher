// How many facts of each type there are, and how fast they decay.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
// Example: chronofy-kg cypher @types_and_counts
MATCH (f:Fact {tenant: $tenant})-[:OF_TYPE]->(t:FactType)
RETURN t.name AS type, t.kind AS kind, t.beta AS beta, t.half_life_days AS half_life_days, count(f) AS facts
ORDER BY facts DESC, type
