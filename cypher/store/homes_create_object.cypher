// Make new homes that state an entity, each with the assertion that it shows. A file of its own, since an OPTIONAL
// MATCH that finds nothing costs the embedded engine a scan.
UNWIND range(0, size($id) - 1) AS i
MATCH (e:Entity {tenant: $tenant, id: $subject[i]})
MATCH (t:FactType {tenant: $tenant, name: $type[i]})
MATCH (s:Source {tenant: $tenant, id: $source[i]})
MATCH (o:Entity {tenant: $tenant, id: $object[i]})
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
CREATE (f)-[:OBJECT {tenant: $tenant}]->(o)
CREATE (f)-[:ASSERTED_BY {
  tenant: $tenant, id: $assertion[i], type: $type[i], content: $told_content[i], meta: $meta[i],
  value_kind: $value_kind[i], valid_from_us: $valid_from_us[i], valid_to_us: $told_valid_to_us[i],
  observed_at_us: $observed_at_us[i], recorded_at_us: $recorded_at_us, retired_at_us: $open_us,
  quality: $quality[i], row: $first_row + $row[i], seq: $sequence, added_seq: $sequence,
  told_subject: $told_subject[i], told_predicate: $told_predicate[i], told_object: $told_object[i],
  told_value: $told_value[i], told_source: $told_source[i],
  told_unit: $told_unit[i], told_datatype: $told_datatype[i], told_lang: $told_lang[i]
}]->(s)
