"""Many cases of one behaviour in one test."""

import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")


def check_each(cases: Iterable[T], check: Callable[[T], object]) -> None:
    """Check every case, and fail at the end with the messages of all that failed.

    A check may skip its case; the test is skipped if all do.
    """
    failed, skipped, passed = [], [], 0
    for case in cases:
        try:
            check(case)
        except pytest.skip.Exception as reason:
            skipped.append(str(reason))
        except (Exception, pytest.fail.Exception) as error:
            where = "".join(traceback.format_exception(error, limit=-1))
            failed.append(f"{case}:\n{where}")
        else:
            passed += 1
    assert not failed, f"{len(failed)} cases failed\n" + "\n".join(failed)
    if skipped and not passed:
        pytest.skip(skipped[0])
    assert passed, "there are no cases"
