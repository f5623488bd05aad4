// Mark returning facts that the fold no longer yields.
UNWIND range(0, size($id) - 1) AS i
MATCH (f:Fact {tenant: $tenant, id: $id[i]})
SET f.state = $state[i]
