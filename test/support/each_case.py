"""Check many cases of one behaviour in one test."""

import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")


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
