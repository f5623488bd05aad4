// Which facts are instances of the nodes of the current rule graph.
MATCH (t:Tenant {tenant: $tenant})
MATCH (n:RuleNode {tenant: $tenant, generation: t.rules})<-[:INSTANCE_OF]-(f:Fact)
RETURN f.id AS fact, n.id AS node
