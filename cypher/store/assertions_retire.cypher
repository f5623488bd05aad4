// Stop believing assertions.
UNWIND range(0, size($id) - 1) AS i
MATCH (f:Fact {tenant: $tenant, id: $fact[i]})-[a:ASSERTED_BY]->(:Source)
WHERE a.id = $id[i]
SET a.retired_at_us = $recorded_at_us, a.seq = $sequence
