"""The routes, one module a topic; each has a `router`."""
