"""The demo's data and questions: real CVE records and economic series, as assertions.

Running the demo is a command of the command line; the licences of the data stand beside it.
"""

from chronofy_kg.demo.facts import PACKS, demo_assertions
from chronofy_kg.demo.questions import QUESTIONS, DemoQuestion

__all__ = ["PACKS", "QUESTIONS", "DemoQuestion", "demo_assertions"]
