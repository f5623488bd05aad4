// The assertions that were added or retired after a sequence number.
// One list of lists is half the work of as many records.
MATCH (f:Fact)
WHERE f.tenant = $tenant AND f.seq > $since
MATCH (f)-[a:ASSERTED_BY]->(s:Source)
WHERE a.seq > $since
MATCH (f)-[:SUBJECT]->(e:Entity)
OPTIONAL MATCH (f)-[:OBJECT]->(o:Entity)
RETURN collect([
  f.predicate, f.value, f.unit, f.datatype, f.lang, e.id, o.id, s.id,
  a.id, a.type, a.content, a.meta, a.value_kind,
  a.valid_from_us, a.valid_to_us, a.observed_at_us, a.recorded_at_us, a.retired_at_us,
  a.quality, a.row, a.seq, a.added_seq,
  a.told_subject, a.told_predicate, a.told_object, a.told_value, a.told_source,
  a.told_unit, a.told_datatype, a.told_lang
]) AS rows
