// Subject and predicate of facts, by their ids.
// Parameters: tenant, ids (list of fact ids)
// Example: chronofy-kg cypher @fact_keys --param 'ids=["f_0f…"]'
UNWIND $ids AS id
MATCH (f:Fact {tenant: $tenant, id: id})-[:SUBJECT]->(e:Entity)
RETURN e.id AS subject, f.predicate AS predicate
