// Note that a migration was applied.
MERGE (m:Migration {version: $version})
SET m.name = $name, m.checksum = $checksum
