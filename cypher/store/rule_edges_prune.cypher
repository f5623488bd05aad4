// Remove some edges of older rule graphs.
MATCH (n:RuleNode {tenant: $tenant})-[e:FOLLOWED_BY]->(:RuleNode)
WHERE n.generation < $generation
WITH e LIMIT $limit
DELETE e
RETURN count(*) AS removed
