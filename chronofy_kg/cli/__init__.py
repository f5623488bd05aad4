"""The command line `chronofy-kg`: a thin layer over `chronofy_kg.kb`, for people and for scripts.

Results go to stdout, progress and notes to stderr. What a command does lives in `commands`, how results look
in `render`; nothing here computes. Heavy modules are imported by the commands that need them, so that help
and wrong use answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the arguments without the program's name; None takes those of the process.

    Returns:
        the exit code: 0 well, 1 the input has errors, 2 wrong use, 3 the store cannot be reached, 4 no
        answer, 130 interrupted, 141 the reader of the output went away, 70 an unexpected error.
    """
    try:
        from chronofy_kg.cli.app import run
    except KeyboardInterrupt:  # the imports take a moment too, long enough for a finger
        sys.stderr.write("interrupted\n")
        return 130
    return run(argv)
