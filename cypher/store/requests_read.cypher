// What is kept of a repeatable request. Writing first locks it: two claims are made one after the other.
MATCH (r:Request {tenant: $tenant, key: $key})
SET r.asked_at_us = $now_us
WITH r
RETURN r.digest AS digest, r.status AS status, r.headers AS headers, r.body AS body, r.created_at_us AS created_at_us
