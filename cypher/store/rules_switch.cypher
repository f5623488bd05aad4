// Make a rule graph the current one.
MATCH (t:Tenant {tenant: $tenant})
SET t.rules = $generation
