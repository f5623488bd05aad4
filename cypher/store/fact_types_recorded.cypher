// How many fact types were recorded at an instant.
MATCH (v:FactTypeVersion {tenant: $tenant})
WHERE v.recorded_at_us = $recorded_at_us
RETURN count(v) AS count
