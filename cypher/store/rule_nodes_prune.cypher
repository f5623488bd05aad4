// Remove some nodes of older rule graphs.
MATCH (n:RuleNode {tenant: $tenant})
WHERE n.generation < $generation
WITH n LIMIT $limit
DETACH DELETE n
RETURN count(*) AS removed
