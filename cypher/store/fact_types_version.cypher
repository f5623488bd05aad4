// Keep fact types as they are now as their next versions.
UNWIND $name AS name
MATCH (t:FactType {tenant: $tenant, name: name})
OPTIONAL MATCH (t)-[:HAS_VERSION]->(old:FactTypeVersion)
WITH t, coalesce(max(old.version), 0) + 1 AS version
SET t.version = version
CREATE (t)-[:HAS_VERSION {tenant: $tenant}]->(v:FactTypeVersion {tenant: $tenant, name: t.name, version: version})
SET v += properties(t)
SET v.recorded_at_us = $recorded_at_us
