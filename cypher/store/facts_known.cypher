// Which of these facts exist.
UNWIND $id AS id
MATCH (f:Fact {tenant: $tenant, id: id})
RETURN f.id AS id
