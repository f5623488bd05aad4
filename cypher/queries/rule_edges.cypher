// The temporal rules that were mined, those that save the most bits first.
// A node reads: category of the subject, predicate, category of the object.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   limit: integer, rows at most
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param limit => 20
// Example: chronofy-kg cypher @rule_edges --param limit=20
MATCH (t:Tenant {tenant: $tenant})
MATCH (a:RuleNode {tenant: $tenant, generation: t.rules})-[e:FOLLOWED_BY]->(b:RuleNode)
RETURN trim(a.subject_category + ' ' + a.predicate + ' ' + a.object_category) AS if_node,
       trim(b.subject_category + ' ' + b.predicate + ' ' + b.object_category) AS then_node,
       e.roles AS roles, e.bits AS bits, e.support AS support, e.confidence AS confidence, e.lag AS lag, e.beta AS beta,
       a.id AS source, b.id AS target
ORDER BY bits DESC, source, target
LIMIT $limit
