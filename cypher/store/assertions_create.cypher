// Hang new assertions on their homes, as they were told.
UNWIND range(0, size($id) - 1) AS i
MATCH (f:Fact {tenant: $tenant, id: $fact[i]})
MATCH (s:Source {tenant: $tenant, id: $source[i]})
CREATE (f)-[:ASSERTED_BY {
  tenant: $tenant, id: $id[i], type: $type[i], content: $content[i], meta: $meta[i], value_kind: $value_kind[i],
  valid_from_us: $valid_from_us[i], valid_to_us: $valid_to_us[i], observed_at_us: $observed_at_us[i],
  recorded_at_us: $recorded_at_us,
  retired_at_us: CASE WHEN $stillborn[i] THEN $recorded_at_us ELSE $open_us END,
  quality: $quality[i], row: $first_row + $row[i], seq: $sequence, added_seq: $sequence,
  told_subject: $told_subject[i], told_predicate: $told_predicate[i], told_object: $told_object[i],
  told_value: $told_value[i], told_source: $told_source[i],
  told_unit: $told_unit[i], told_datatype: $told_datatype[i], told_lang: $told_lang[i]
}]->(s)
