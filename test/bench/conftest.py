"""The table that the benchmarks end with."""

import pytest

ROWS = pytest.StashKey[list]()


@pytest.fixture
def rows(request):
    """Rows (what, time, speed, measured against, ratio) of the table."""
    return request.config.stash.setdefault(ROWS, [])


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash.get(ROWS, [])
    if not rows:
        return
    table = [("what", "time", "speed", "against", "ratio"), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(5)]
    terminalreporter.section("speed")
    for row in table:
        cells = (
            text.ljust(w) if i in (0, 3) else text.rjust(w)
            for i, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        terminalreporter.write_line("  ".join(cells).rstrip())
