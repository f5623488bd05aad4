// Note on facts that one of their assertions changed.
UNWIND $id AS id
MATCH (f:Fact {tenant: $tenant, id: id})
SET f.seq = $sequence
