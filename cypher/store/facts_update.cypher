// Bring facts up to date with the fold. Identity (subject, predicate, value) never changes.
UNWIND range(0, size($id) - 1) AS i
MATCH (f:Fact {tenant: $tenant, id: $id[i]})
SET f.state = $state[i], f.content = $content[i], f.value = $value[i], f.value_kind = $value_kind[i],
    f.quality = $quality[i],
    f.valid_to = datetime($valid_to[i]), f.valid_to_us = $valid_to_us[i],
    f.observed_at = datetime($observed_at[i]), f.observed_at_us = $observed_at_us[i]
