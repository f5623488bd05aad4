// Link facts to the rule nodes that they are instances of.
UNWIND range(0, size($fact) - 1) AS i
MATCH (f:Fact {tenant: $tenant, id: $fact[i]})
MATCH (n:RuleNode {tenant: $tenant, generation: $generation, id: $node[i]})
CREATE (f)-[:INSTANCE_OF {tenant: $tenant}]->(n)
