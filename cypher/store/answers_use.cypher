// Link an answer to the facts that it used.
UNWIND range(0, size($id) - 1) AS i
MATCH (a:Answer {tenant: $tenant, id: $answer})
MATCH (f:Fact {tenant: $tenant, id: $id[i]})
CREATE (a)-[:USED {tenant: $tenant, validity: $validity[i]}]->(f)
