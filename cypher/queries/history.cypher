// Every period of one subject and predicate, and what ended it.
// Parameters: tenant, entity (id of the subject), predicate
// Example: chronofy-kg cypher @history --param entity=patient:17 --param predicate=egfr
MATCH (e:Entity {tenant: $tenant, id: $entity})<-[:SUBJECT]-(f:Fact)
WHERE f.predicate = $predicate
OPTIONAL MATCH (f)-[:OBJECT]->(o:Entity)
OPTIONAL MATCH (next:Fact)-[:SUPERSEDES]->(f)
OPTIONAL MATCH (f)-[:RESUMES]->(home:Fact)
RETURN f.id AS fact, coalesce(o.name, f.value) AS value, f.unit AS unit, f.state AS state,
       f.valid_from AS valid_from, f.valid_to AS valid_to, f.observed_at AS observed_at,
       next.id AS superseded_by, home.id AS resumes
ORDER BY f.valid_from_us, fact
