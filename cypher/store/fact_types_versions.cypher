// Every version of every fact type.
MATCH (v:FactTypeVersion {tenant: $tenant})
RETURN properties(v) AS properties
