"""The table of instants: a test with an argument `instant` runs once a case.

One with `file_instant` leaves out the cases that need a declared unit, which files cannot give.
"""

import pytest
from support.instants import case_id, load_cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for argument in {"instant", "file_instant"} & set(metafunc.fixturenames):
        cases = [case for case in load_cases() if case.unit is None or argument == "instant"]
        metafunc.parametrize(argument, cases, ids=map(case_id, cases))
