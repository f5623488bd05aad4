"""The questions that the demo asks, each at a fixed instant, so that its answers do not drift."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["QUESTIONS", "DemoQuestion"]


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question as of an instant, and what it shows."""

    title: str
    question: str
    at: str


QUESTIONS = (
    DemoQuestion(
        "Evidence that is fresh enough", "Is CVE-2023-38606 being exploited?", "2024-10-25T00:00:00Z"
    ),
    DemoQuestion(
        "The same question where the evidence is too old",
        "Is CVE-2024-4978 being exploited?",
        "2024-10-25T00:00:00Z",
    ),
    DemoQuestion("As of a past date", "What was the US unemployment rate?", "1985-02-15T00:00:00Z"),
)
