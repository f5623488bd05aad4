// Keep the reply of a request.
MATCH (r:Request {tenant: $tenant, key: $key})
SET r.status = $status, r.headers = $headers, r.body = $body
