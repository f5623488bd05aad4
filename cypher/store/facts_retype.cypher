// Move facts whose type was told otherwise to that type.
UNWIND range(0, size($id) - 1) AS i
MATCH (f:Fact {tenant: $tenant, id: $id[i]})-[old:OF_TYPE]->(:FactType)
WHERE f.type <> $type[i]
MATCH (t:FactType {tenant: $tenant, name: $type[i]})
DELETE old
CREATE (f)-[:OF_TYPE {tenant: $tenant}]->(t)
SET f.type = $type[i]
