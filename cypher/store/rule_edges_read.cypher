// The edges of the current rule graph.
MATCH (t:Tenant {tenant: $tenant})
MATCH (a:RuleNode {tenant: $tenant, generation: t.rules})-[e:FOLLOWED_BY]->(b:RuleNode)
RETURN a.id AS source, b.id AS target, properties(e) AS properties
ORDER BY source, target
