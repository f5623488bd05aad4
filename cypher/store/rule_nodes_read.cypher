// The nodes of the current rule graph.
MATCH (t:Tenant {tenant: $tenant})
MATCH (n:RuleNode {tenant: $tenant, generation: t.rules})
RETURN n.id AS id, properties(n) AS properties
