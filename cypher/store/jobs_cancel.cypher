// Ask for the end of a job.
MATCH (j:Job {tenant: $tenant, id: $id})
WHERE j.status IN ['queued', 'running']
SET j.cancel = true
RETURN j.id AS id
