// Fact types are kept in every version: each fit and declaration is one, with the instant it was recorded.
// What a store kept before it had versions counts as recorded before everything else.
CREATE CONSTRAINT chronofy_fact_type_version IF NOT EXISTS FOR (n:FactTypeVersion) REQUIRE (n.tenant, n.name, n.version) IS UNIQUE;
MATCH (t:FactType) WHERE t.nulls IS NOT NULL MERGE (v:FactTypeVersion {tenant: t.tenant, name: t.name, version: coalesce(t.version, 1)}) SET v += properties(t), v.recorded_at_us = 0;
MATCH (t:FactType), (v:FactTypeVersion {tenant: t.tenant, name: t.name}) MERGE (t)-[:HAS_VERSION {tenant: t.tenant}]->(v);
