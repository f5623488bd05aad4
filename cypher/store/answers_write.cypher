// Store an answer, without what an earlier one of this id used.
MERGE (a:Answer {tenant: $tenant, id: $id})
SET a.body = $body
WITH a
OPTIONAL MATCH (a)-[u:USED]->(:Fact)
DELETE u
