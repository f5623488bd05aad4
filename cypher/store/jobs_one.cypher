// One job.
MATCH (j:Job {tenant: $tenant, id: $id})
RETURN properties(j) AS properties
