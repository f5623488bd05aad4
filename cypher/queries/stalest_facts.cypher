// The facts in force that were not seen for the longest time: candidates to acquire again.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   at_us: integer, the instant, in microseconds since 1970
//   limit: integer, rows at most
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param at_us => datetime('1985-02-15T00:00:00Z').epochMillis * 1000
//   :param limit => 20
// Example: chronofy-kg cypher @stalest_facts --param at_us=477273600000000 --param limit=20
MATCH (f:Fact)
WHERE f.tenant = $tenant AND f.observed_at_us <= $at_us AND f.state = 'in_force'
  AND f.valid_from_us <= $at_us AND $at_us < f.valid_to_us
WITH f ORDER BY f.observed_at_us LIMIT $limit
MATCH (f)-[:OF_TYPE]->(t:FactType)
RETURN f.id AS fact, f.content AS content, f.observed_at AS observed_at,
       ($at_us - f.observed_at_us) / 86400000000.0 AS age_days, t.beta AS beta,
       coalesce(f.quality, 1.0) * exp(-coalesce(t.beta, 0.0) * ($at_us - f.observed_at_us) / 86400000000.0) AS validity
ORDER BY f.observed_at_us, fact
