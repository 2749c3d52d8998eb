"""What the comparisons found, printed as a table after the tests."""

import pytest

from tests.parity.table import Verdict, lines

_FOUND = pytest.StashKey[list[Verdict]]()


@pytest.fixture
def verdicts(request: pytest.FixtureRequest) -> list[Verdict]:
    """Where a test puts what it found."""
    return request.config.stash.setdefault(_FOUND, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = terminalreporter.config.stash.get(_FOUND, [])
    if found:
        terminalreporter.section("parity")
        for line in lines(found):
            terminalreporter.line(line)
