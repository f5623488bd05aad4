// What an answer rests on: each fact that it used, how valid it was then, and who stated it.
// Parameters:
//   tenant: string, whose graph; 'default' unless set otherwise
//   answer: string, id of the answer
// Example in Neo4j Browser (run these lines without their slashes, then the rest):
//   :param tenant => 'default'
//   :param answer => 'ans_3f9c0b7d52e8416a90c1d2e4b5f60718'
// Example: chronofy-kg cypher @evidence_of_answer --param answer=ans_3f9c0b7d52e8416a90c1d2e4b5f60718
MATCH (:Answer {tenant: $tenant, id: $answer})-[u:USED]->(f:Fact)
OPTIONAL MATCH (f)-[:RESUMES]->(home:Fact)
WITH u, f, coalesce(home, f) AS told
MATCH (told)-[a:ASSERTED_BY]->(s:Source)
RETURN f.id AS fact, f.content AS content, u.validity AS validity, s.id AS source, s.reliability AS reliability,
       a.observed_at_us AS observed_at_us, a.quality AS quality, a.retired_at_us AS retired_at_us
ORDER BY validity DESC, fact, a.recorded_at_us, a.row
