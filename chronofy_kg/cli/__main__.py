"""Runs the command line as `python -m chronofy_kg.cli`."""

from __future__ import annotations

import sys

from chronofy_kg.cli import main

sys.exit(main())
