// Every period of one subject and predicate, and what ended it.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   entity: string, id of the entity
//   predicate: string, name of the predicate
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param entity => 'US'
//   :param predicate => 'unemployment_rate'
// Example: chronofy-kg cypher @history --param entity=US --param predicate=unemployment_rate
MATCH (e:Entity {tenant: $tenant, id: $entity})<-[:SUBJECT]-(f:Fact)
WHERE f.predicate = $predicate
OPTIONAL MATCH (f)-[:OBJECT]->(o:Entity)
OPTIONAL MATCH (next:Fact)-[:SUPERSEDES]->(f)
OPTIONAL MATCH (f)-[:RESUMES]->(home:Fact)
RETURN f.id AS fact, coalesce(o.name, f.value) AS value, f.unit AS unit, f.state AS state,
       f.valid_from AS valid_from, f.valid_to AS valid_to, f.observed_at AS observed_at,
       next.id AS superseded_by, home.id AS resumes
ORDER BY f.valid_from_us, fact
