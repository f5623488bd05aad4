// Which of these entities exist.
UNWIND $id AS id
MATCH (e:Entity {tenant: $tenant, id: id})
RETURN e.id AS id
