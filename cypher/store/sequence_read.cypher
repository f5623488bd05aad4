// Where a tenant stands.
MATCH (t:Tenant {tenant: $tenant})
RETURN t.id AS identity, t.sequence AS sequence, t.recorded_at_us AS recorded_at_us, t.rows AS rows
