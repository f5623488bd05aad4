// Store a new version of a spec file.
CREATE (:Spec {
  tenant: $tenant, name: $name, version: $version, hash: $hash, text: $text, author: $author,
  recorded_at_us: $recorded_at_us
})
