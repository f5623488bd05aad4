// Store answers, without what earlier ones of their ids used.
UNWIND range(0, size($id) - 1) AS i
MERGE (a:Answer {tenant: $tenant[i], id: $id[i]})
SET a.body = $body[i]
WITH a
OPTIONAL MATCH (a)-[u:USED]->(:Fact)
DELETE u
