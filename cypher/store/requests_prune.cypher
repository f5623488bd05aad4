// Remove some replies that are kept for long enough.
MATCH (r:Request)
WHERE r.tenant = $tenant AND r.created_at_us < $before_us
WITH r LIMIT 50
DELETE r
