// Make (newer)-[:SUPERSEDES]->(older).
UNWIND range(0, size($source) - 1) AS i
MATCH (a:Fact {tenant: $tenant, id: $source[i]})
MATCH (b:Fact {tenant: $tenant, id: $target[i]})
CREATE (a)-[:SUPERSEDES {tenant: $tenant}]->(b)
