// The JSON form of an answer.
MATCH (a:Answer {tenant: $tenant, id: $id})
RETURN a.body AS body
