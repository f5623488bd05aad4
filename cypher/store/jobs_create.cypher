// Note a job that waits for its turn.
CREATE (:Job {
  tenant: $tenant, id: $id, kind: $kind, status: 'queued', request: $request, created_at_us: $now_us,
  beat_at_us: $now_us, cancel: false
})
