// Say how a job ended, once.
MATCH (j:Job {tenant: $tenant, id: $id})
WHERE j.status IN ['queued', 'running']
SET j.status = $status, j.ended_at_us = $now_us, j.result = $result, j.error = $error
RETURN j.id AS id
