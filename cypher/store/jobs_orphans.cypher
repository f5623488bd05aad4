// Jobs whose server has gone silent have failed.
MATCH (j:Job {tenant: $tenant})
WHERE j.status IN ['queued', 'running'] AND j.beat_at_us < $before_us
SET j.status = 'failed', j.ended_at_us = $now_us, j.error = $error
RETURN j.id AS id
