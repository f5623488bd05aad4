// Who stated a fact, when, and whether it is still believed.
// A fact that resumes after an interruption has the statements of its home.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   fact: string, id of the fact
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param fact => 'f_d1d26ed13b01cba863d4b1f9ae89ba46'
// Example: chronofy-kg cypher @sources_of_fact --param fact=f_d1d26ed13b01cba863d4b1f9ae89ba46
MATCH (f:Fact {tenant: $tenant, id: $fact})
OPTIONAL MATCH (f)-[:RESUMES]->(home:Fact)
WITH coalesce(home, f) AS told
MATCH (told)-[a:ASSERTED_BY]->(s:Source)
RETURN s.id AS source, a.id AS assertion, a.observed_at_us AS observed_at_us, a.quality AS quality,
       a.recorded_at_us AS recorded_at_us, a.retired_at_us AS retired_at_us
ORDER BY a.recorded_at_us, a.row
