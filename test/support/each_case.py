"""Check many cases of one behaviour in one test."""

import inspect
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TypeVar

import pytest

T = TypeVar("T")


def spread(cases: Iterable[T], count: int) -> list[T]:
    """Return ``count`` of the cases, evenly spread over their order, or all if they are fewer."""
    known = list(cases)
    step = max(1.0, len(known) / max(1, count))
    return [known[int(i * step)] for i in range(min(count, len(known)))]


def some_or_all(name: str, cases: Iterable[T], count: int) -> pytest.MarkDecorator:
    """Parametrize a test by lists of cases: ``count`` of them, and all, which is slow."""
    known = list(cases)
    every = pytest.param(known, id="all", marks=pytest.mark.slow)
    return pytest.mark.parametrize(name, [pytest.param(spread(known, count), id="some"), every])


def mostly_slow(cases: Iterable[T], count: int) -> list[object]:
    """Return cases as parameters of a test, all but ``count`` of them marked as slow."""
    known = list(cases)
    kept = {id(case) for case in spread(known, count)}
    return [
        case
        if id(case) in kept
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in known
    ]


def all_cases(names: str | Iterable[str], cases: Iterable[object]):
    """Run a test with every row of a table, as ``pytest.mark.parametrize``, but as one test.

    For many cheap cases without fixtures other than ``diagnostics``, which is checked after each.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(cases)
    assert not any(hasattr(case, "marks") for case in table), "pytest.param is for parametrize"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: object) -> None:
            found = fixtures.get("diagnostics")

            def check(case: object) -> None:
                values = case if len(keys) > 1 else (case,)
                test(**dict(zip(keys, values, strict=True)), **fixtures)
                assert found is None or not found.found, [str(d) for d in found.found]

            def check_afresh(case: object) -> None:
                try:
                    check(case)
                finally:
                    if found is not None:
                        found.found.clear()

            check_each(table, check_afresh)

        others = inspect.signature(test).parameters.values()
        run.__signature__ = inspect.Signature([x for x in others if x.name not in keys])
        del run.__wrapped__
        return run

    return decorate


def check_each(cases: Iterable[T], check: Callable[[T], object]) -> None:
    """Check every case, and fail at the end with the messages of all that failed.

    A check may skip its case; the test is skipped if all do.
    """
    skipped: list[str] = []
    failed: list[str] = []
    count = 0
    for case in cases:
        count += 1
        _check(case, check, skipped, failed)
    assert not failed, f"{len(failed)} of {count} cases failed\n" + "\n".join(failed)
    assert count, "there are no cases"
    if len(skipped) == count:
        pytest.skip(", ".join(Counter(skipped)))


def _check(case: T, check: Callable[[T], object], skipped: list[str], failed: list[str]) -> None:
    try:
        check(case)
    except pytest.skip.Exception as reason:
        skipped.append(str(reason))
    except (Exception, pytest.fail.Exception) as error:
        failed.append(f"{case}:\n" + "".join(traceback.format_exception(error, limit=-1)))
