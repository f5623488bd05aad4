// Keep an API key: of its secret only a digest.
CREATE (:ApiKey {
  id: $id, tenant: $tenant, name: $name, scopes: $scopes, digest: $digest,
  created_at_us: $created_at_us, ends_at_us: $ends_at_us
})
