// Give the key of a request that failed free again. It is not deleted: another request may be looking at it.
MATCH (r:Request {tenant: $tenant, key: $key})
SET r.status = -1
