// The facts that held at an instant, by their periods as they are known now.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   at_us: integer, the instant, in microseconds since 1970
//   limit: integer, rows at most
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param at_us => datetime('1985-02-15T00:00:00Z').epochMillis * 1000
//   :param limit => 20
// Example: chronofy-kg cypher @as_of --param at_us=477273600000000 --param limit=20
MATCH (f:Fact {tenant: $tenant})
WHERE f.state = 'in_force' AND f.valid_from_us <= $at_us AND $at_us < f.valid_to_us
WITH f ORDER BY f.valid_from_us DESC, f.id LIMIT $limit
MATCH (f)-[:SUBJECT]->(e:Entity)
OPTIONAL MATCH (f)-[:OBJECT]->(o:Entity)
RETURN f.id AS fact, e.name AS subject, f.predicate AS predicate, coalesce(o.name, f.value) AS value, f.unit AS unit,
       f.valid_from AS valid_from, f.valid_to AS valid_to, f.observed_at AS observed_at
ORDER BY f.valid_from_us DESC, fact
