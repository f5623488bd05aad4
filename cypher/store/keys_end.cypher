// End an API key, unless it ends earlier.
MATCH (k:ApiKey {id: $id})
SET k.ends_at_us = CASE WHEN k.ends_at_us > $ends_at_us THEN $ends_at_us ELSE k.ends_at_us END
RETURN k.id AS id
