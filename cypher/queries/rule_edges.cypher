// The temporal rules that were mined, the most telling first.
// Parameters: tenant, limit
// Example: chronofy-kg cypher @rule_edges --param limit=20
MATCH (t:Tenant {tenant: $tenant})
MATCH (a:RuleNode {tenant: $tenant, generation: t.rules})-[e:FOLLOWED_BY]->(b:RuleNode)
RETURN a.id AS source, a.predicate AS if_predicate, b.id AS target, b.predicate AS then_predicate,
       e.roles AS roles, e.support AS support, e.confidence AS confidence, e.lag AS lag, e.bits AS bits, e.beta AS beta
ORDER BY bits DESC, source, target
LIMIT $limit
