// Say how far a job is.
MATCH (j:Job {tenant: $tenant, id: $id})
WHERE j.status IN ['queued', 'running']
SET j.status = 'running', j.started_at_us = $started_at_us, j.stage = $stage, j.done = $done, j.total = $total
