"""Writes the OpenAPI document that is kept beside this file: python -m chronofy_kg.api"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from chronofy_kg.api.app import create_app
from chronofy_kg.settings import Settings

DOCUMENT = Path(__file__).with_name("openapi.json")


def document_text() -> str:
    """Return the document as it is kept."""
    kb = SimpleNamespace(settings=Settings())
    document = create_app(kb).openapi()  # type: ignore[arg-type]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(document_text(), encoding="utf-8")
    sys.stdout.write(f"wrote {DOCUMENT}\n")
