// Claim the key of a request; two at once meet at the constraint.
CREATE (:Request {tenant: $tenant, key: $key, digest: $digest, status: 0, created_at_us: $now_us})
