// Claim a key anew whose claim or reply has grown old.
MATCH (r:Request {tenant: $tenant, key: $key})
SET r.digest = $digest, r.status = 0, r.headers = null, r.body = null, r.created_at_us = $now_us
