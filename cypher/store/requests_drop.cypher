// Give the key of a request that failed free again.
MATCH (r:Request {tenant: $tenant, key: $key})
DELETE r
