// Link answers to the facts that they used.
UNWIND range(0, size($id) - 1) AS i
MATCH (a:Answer {tenant: $tenant[i], id: $answer[i]})
MATCH (f:Fact {tenant: $tenant[i], id: $id[i]})
CREATE (a)-[:USED {tenant: $tenant[i], validity: $validity[i]}]->(f)
