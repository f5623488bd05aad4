// Make facts that do not exist, with their subject and type. Properties stand inline: SET from a map costs the
// embedded engine ten times as much.
UNWIND range(0, size($id) - 1) AS i
MATCH (e:Entity {tenant: $tenant, id: $subject[i]})
MATCH (t:FactType {tenant: $tenant, name: $type[i]})
CREATE (f:Fact {
  tenant: $tenant, id: $id[i], predicate: $predicate[i], type: $type[i], content: $content[i],
  value: $value[i], value_kind: $value_kind[i], unit: $unit[i], datatype: $datatype[i], lang: $lang[i],
  state: $state[i], quality: $quality[i], seq: $sequence,
  valid_from: datetime($valid_from[i]), valid_from_us: $valid_from_us[i],
  valid_to: datetime($valid_to[i]), valid_to_us: $valid_to_us[i],
  observed_at: datetime($observed_at[i]), observed_at_us: $observed_at_us[i]
})
CREATE (f)-[:SUBJECT {tenant: $tenant}]->(e)
CREATE (f)-[:OF_TYPE {tenant: $tenant}]->(t)
