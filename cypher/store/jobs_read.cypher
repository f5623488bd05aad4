// All jobs of a tenant.
MATCH (j:Job {tenant: $tenant})
RETURN properties(j) AS properties
