// Keys and indexes of the graph. Each statement ends with a semicolon at the end of its line.
// Never edit a migration that was released: its checksum is recorded in the store. Add a new file.
// Ids belong to a tenant, so every key is (tenant, id).
CREATE CONSTRAINT chronofy_migration IF NOT EXISTS FOR (n:Migration) REQUIRE n.version IS UNIQUE;
CREATE CONSTRAINT chronofy_tenant IF NOT EXISTS FOR (n:Tenant) REQUIRE n.tenant IS UNIQUE;
CREATE CONSTRAINT chronofy_entity IF NOT EXISTS FOR (n:Entity) REQUIRE (n.tenant, n.id) IS UNIQUE;
CREATE CONSTRAINT chronofy_fact IF NOT EXISTS FOR (n:Fact) REQUIRE (n.tenant, n.id) IS UNIQUE;
CREATE CONSTRAINT chronofy_fact_type IF NOT EXISTS FOR (n:FactType) REQUIRE (n.tenant, n.name) IS UNIQUE;
CREATE CONSTRAINT chronofy_source IF NOT EXISTS FOR (n:Source) REQUIRE (n.tenant, n.id) IS UNIQUE;
CREATE CONSTRAINT chronofy_rule_node IF NOT EXISTS FOR (n:RuleNode) REQUIRE (n.tenant, n.generation, n.id) IS UNIQUE;
CREATE CONSTRAINT chronofy_spec IF NOT EXISTS FOR (n:Spec) REQUIRE (n.tenant, n.name, n.version) IS UNIQUE;
CREATE CONSTRAINT chronofy_answer IF NOT EXISTS FOR (n:Answer) REQUIRE (n.tenant, n.id) IS UNIQUE;
// Which assertions changed since a sequence number, for workers that refresh their snapshot.
CREATE INDEX chronofy_fact_seq IF NOT EXISTS FOR (n:Fact) ON (n.tenant, n.seq);
// Stalest first, without a scan of the whole graph.
CREATE INDEX chronofy_fact_observed IF NOT EXISTS FOR (n:Fact) ON (n.tenant, n.observed_at_us);
