// Every version of every spec file.
MATCH (s:Spec {tenant: $tenant})
RETURN s.name AS name, s.version AS version, s.hash AS hash, s.text AS text, s.author AS author,
  s.recorded_at_us AS recorded_at_us
ORDER BY name, version
