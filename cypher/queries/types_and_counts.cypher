// How many facts of each type there are, and how fast they decay.
// Parameters: tenant
// Example: chronofy-kg cypher @types_and_counts
MATCH (f:Fact {tenant: $tenant})-[:OF_TYPE]->(t:FactType)
RETURN t.name AS type, t.kind AS kind, t.beta AS beta, t.half_life_days AS half_life_days, count(f) AS facts
ORDER BY facts DESC, type
