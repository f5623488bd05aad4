// An entity with its facts, their types and sources
MATCH p = (e:Entity {tenant: 'default', id: 'US'})<-[:SUBJECT]-(f:Fact)-[:OF_TYPE|ASSERTED_BY]->()
RETURN p LIMIT 100;
// Which fact superseded which
MATCH p = (:Fact {tenant: 'default'})-[:SUPERSEDES]->(:Fact)
RETURN p LIMIT 100;
// Rules, those that save the most bits first
MATCH p = (:RuleNode {tenant: 'default'})-[e:FOLLOWED_BY]->(:RuleNode)
RETURN p ORDER BY e.bits DESC LIMIT 50;
