// The fact types that were written; one that loads only made for its facts has no `nulls`.
MATCH (t:FactType {tenant: $tenant})
WHERE t.nulls IS NOT NULL
RETURN properties(t) AS properties
