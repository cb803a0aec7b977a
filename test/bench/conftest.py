"""The table that the benchmarks end with."""

from statistics import median
from time import perf_counter

import pytest

ROWS = pytest.StashKey[list]()


@pytest.fixture
def rows(request):
    """Rows (what, time, speed, measured against, ratio) of the table."""
    return request.config.stash.setdefault(ROWS, [])


@pytest.fixture
def in_turn(benchmark):
    """Time a function and its reference in turn, so that other load affects both.

    Returns the median of each in [s]; the second is None without a reference.
    """

    def run(ours, reference=None, *, rounds, warmup_rounds=1, arguments=None):
        references = []

        def setup():
            if reference:
                start = perf_counter()
                reference()
                references.append(perf_counter() - start)
            return arguments

        benchmark.pedantic(ours, setup=setup, rounds=rounds, warmup_rounds=warmup_rounds)
        return benchmark.stats.stats.median, median(references) if references else None

    return run


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
