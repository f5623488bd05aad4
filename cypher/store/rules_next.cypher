// Take the number of the next rule graph.
MERGE (t:Tenant {tenant: $tenant})
ON CREATE SET t.sequence = 0, t.recorded_at_us = 0, t.rows = 0
SET t.next_rules = coalesce(t.next_rules, 0) + 1
RETURN t.next_rules AS generation
