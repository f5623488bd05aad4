// The newest version of a spec file.
MATCH (s:Spec {tenant: $tenant, name: $name})
RETURN s.version AS version, s.hash AS hash
ORDER BY s.version DESC
LIMIT 1
