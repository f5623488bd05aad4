// Remove relationships that the fold no longer yields.
UNWIND range(0, size($source) - 1) AS i
MATCH (a:Fact {tenant: $tenant, id: $source[i]})-[r:RESUMES]->(b:Fact)
WHERE b.id = $target[i]
DELETE r
