"""The HTTP interface: a FastAPI application over one KnowledgeBase, and the server that runs it."""

from __future__ import annotations

from chronofy_kg.api.app import create_app
from chronofy_kg.api.logs import configure_logs
from chronofy_kg.api.serving import serve, serve_from

__all__ = ["configure_logs", "create_app", "serve", "serve_from"]
