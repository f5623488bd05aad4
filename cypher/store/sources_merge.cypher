// Make sure that sources exist; the one with the empty id stands for "no source stated".
UNWIND $id AS id
MERGE (s:Source {tenant: $tenant, id: id})
