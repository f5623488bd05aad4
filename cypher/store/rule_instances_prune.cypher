// Remove some instance links of older rule graphs.
MATCH (n:RuleNode {tenant: $tenant})<-[i:INSTANCE_OF]-(:Fact)
WHERE n.generation < $generation
WITH i LIMIT $limit
DELETE i
RETURN count(*) AS removed
