// Write rule nodes.
UNWIND range(0, size($id) - 1) AS i
CREATE (n:RuleNode {tenant: $tenant, generation: $generation, id: $id[i]})
SET n += $properties[i]
