// Write fact types. A null removes a property, and `nulls` remembers that it was said.
UNWIND range(0, size($name) - 1) AS i
MERGE (t:FactType {tenant: $tenant, name: $name[i]})
WITH t, i, [n IN coalesce(t.nulls, []) WHERE NOT n IN $given[i]] AS kept
SET t += $properties[i]
SET t.nulls = kept + $nulls[i]
