// All API keys, ended ones too.
MATCH (k:ApiKey)
RETURN k.id AS id, k.tenant AS tenant, k.name AS name, k.scopes AS scopes, k.digest AS digest,
       k.created_at_us AS created_at_us, k.ends_at_us AS ends_at_us
