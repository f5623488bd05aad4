// Link facts to the entity that they state.
UNWIND range(0, size($id) - 1) AS i
MATCH (f:Fact {tenant: $tenant, id: $id[i]})
MATCH (e:Entity {tenant: $tenant, id: $object[i]})
CREATE (f)-[:OBJECT {tenant: $tenant}]->(e)
