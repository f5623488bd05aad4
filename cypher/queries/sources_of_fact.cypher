// Who stated a fact, when, and whether it is still believed.
// Parameters: tenant, fact (id of the fact)
// Example: chronofy-kg cypher @sources_of_fact --param fact=f_0f…
MATCH (f:Fact {tenant: $tenant, id: $fact})-[a:ASSERTED_BY]->(s:Source)
RETURN s.id AS source, a.id AS assertion, a.observed_at_us AS observed_at_us, a.quality AS quality,
       a.recorded_at_us AS recorded_at_us, a.retired_at_us AS retired_at_us
ORDER BY a.recorded_at_us, a.row
