// Write rule edges.
UNWIND range(0, size($source) - 1) AS i
MATCH (a:RuleNode {tenant: $tenant, generation: $generation, id: $source[i]})
MATCH (b:RuleNode {tenant: $tenant, generation: $generation, id: $target[i]})
CREATE (a)-[e:FOLLOWED_BY {tenant: $tenant, generation: $generation}]->(b)
SET e += $properties[i]
