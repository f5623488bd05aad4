// Subject and predicate of facts, by their ids.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   ids: list of strings, ids of facts
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param ids => ['f_d1d26ed13b01cba863d4b1f9ae89ba46']
// Example: chronofy-kg cypher @fact_keys --param ids='["f_d1d26ed13b01cba863d4b1f9ae89ba46"]'
UNWIND $ids AS id
MATCH (f:Fact {tenant: $tenant, id: id})-[:SUBJECT]->(e:Entity)
RETURN e.id AS subject, f.predicate AS predicate
