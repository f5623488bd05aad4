// Make sure that fact types exist.
UNWIND $name AS name
MERGE (t:FactType {tenant: $tenant, name: name})
