// Make entities that do not exist.
UNWIND range(0, size($id) - 1) AS i
CREATE (:Entity {tenant: $tenant, id: $id[i], name: $name[i]})
