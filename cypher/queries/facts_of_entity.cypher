// What holds of an entity at an instant, freshest first: validity = quality * exp(-beta * age).
// A type without a rate does not decay; age is counted from the last observation.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   entity: string, id of the entity
//   at_us: integer, the instant, in microseconds since 1970
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param entity => 'US'
//   :param at_us => datetime('1985-02-15T00:00:00Z').epochMillis * 1000
// Example: chronofy-kg cypher @facts_of_entity --param entity=US --param at_us=477273600000000
MATCH (e:Entity {tenant: $tenant, id: $entity})<-[:SUBJECT]-(f:Fact)
WHERE f.state = 'in_force' AND f.valid_from_us <= $at_us AND $at_us < f.valid_to_us
OPTIONAL MATCH (f)-[:OF_TYPE]->(t:FactType)
OPTIONAL MATCH (f)-[:OBJECT]->(o:Entity)
WITH f, o, CASE WHEN f.observed_at_us < $at_us THEN ($at_us - f.observed_at_us) / 86400000000.0 ELSE 0.0 END AS age_days,
     t.beta AS beta
RETURN f.id AS fact, f.predicate AS predicate, coalesce(o.name, f.value) AS value, f.unit AS unit, f.content AS content,
       age_days, beta, coalesce(f.quality, 1.0) * exp(-coalesce(beta, 0.0) * age_days) AS validity
ORDER BY validity DESC, fact
