// What the HTTP server keeps for all of its workers: API keys, jobs, and the replies of repeatable requests.
CREATE CONSTRAINT chronofy_api_key IF NOT EXISTS FOR (n:ApiKey) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT chronofy_job IF NOT EXISTS FOR (n:Job) REQUIRE (n.tenant, n.id) IS UNIQUE;
CREATE CONSTRAINT chronofy_request IF NOT EXISTS FOR (n:Request) REQUIRE (n.tenant, n.key) IS UNIQUE;
CREATE INDEX chronofy_request_created IF NOT EXISTS FOR (n:Request) ON (n.tenant, n.created_at_us);
