// What is kept of a repeatable request.
MATCH (r:Request {tenant: $tenant, key: $key})
RETURN r.digest AS digest, r.status AS status, r.headers AS headers, r.body AS body, r.created_at_us AS created_at_us
