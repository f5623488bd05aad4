// Take the tenant's next sequence number; this locks the tenant until the transaction ends.
// The id is drawn once: it tells this tenant from one of the same name in another store, or after a wipe.
MERGE (t:Tenant {tenant: $tenant})
ON CREATE SET t.sequence = 0, t.recorded_at_us = 0, t.rows = 0
SET t.id = coalesce(t.id, $fresh),
    t.sequence = t.sequence + 1,
    t.rows = t.rows + $count,
    t.recorded_at_us = CASE WHEN $now_us > t.recorded_at_us THEN $now_us ELSE t.recorded_at_us + 1 END
RETURN t.id AS identity, t.sequence AS sequence, t.recorded_at_us AS recorded_at_us, t.rows - $count AS first_row
