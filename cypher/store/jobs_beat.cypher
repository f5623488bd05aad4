// Say that jobs are alive, and ask which of them are to be cancelled.
UNWIND $ids AS id
MATCH (j:Job {tenant: $tenant, id: id})
WHERE j.status IN ['queued', 'running']
SET j.beat_at_us = $now_us
RETURN j.id AS id, j.cancel AS cancel
