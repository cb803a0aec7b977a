"""Late dataclasses behave as those of the standard library, which are the oracle."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import FrozenInstanceError, field
from threading import Barrier
from typing import ClassVar

import pytest

from hrp_model.late_dataclass import dataclass as late

OPTIONS = [
    {name: True for k, name in enumerate(("frozen", "slots", "kw_only")) if number >> k & 1}
    | {"eq": eq}
    for number in range(8)
    for eq in (True, False)
]
ALL = {"argvalues": OPTIONS, "ids": lambda options: "-".join(n for n in options if options[n])}


def point(decorator, **options):
    @decorator(**options)
    class Point:
        """A point."""

        kind: ClassVar[str] = "plain"
        x: float
        y: float = 2.0
        tags: list[str] = field(default_factory=list)
        hidden: int = field(default=5, repr=False, compare=False)
        length: float = field(init=False, default=0.0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", abs(self.x) + abs(self.y))

    return Point


def both(**options):
    return point(late, **options), point(dataclasses.dataclass, **options)


@pytest.mark.parametrize("options", **ALL)
def test_instances_are_as_those_of_the_standard_library(options):
    ours, standard = (cls(x=1.0) for cls in both(**options))
    assert repr(ours) == repr(standard)
    assert dataclasses.asdict(ours) == dataclasses.asdict(standard)
    assert dataclasses.replace(ours, y=3.0).length == dataclasses.replace(standard, y=3.0).length
    assert (ours == type(ours)(x=1.0)) is (standard == type(standard)(x=1.0))
    assert copy.deepcopy(ours).tags == []
    for instance in (ours, standard):
        with pytest.raises(FrozenInstanceError) if options.get("frozen") else nullcontext():
            instance.x = 4.0
        with pytest.raises(FrozenInstanceError) if options.get("frozen") else nullcontext():
            del instance.y
    if options.get("slots"):
        assert not hasattr(ours, "__dict__")


@pytest.mark.parametrize("options", **ALL)
def test_classes_are_as_those_of_the_standard_library(options):
    ours, standard = both(**options)
    assert str(inspect.signature(ours)) == str(inspect.signature(standard))
    assert (ours.__hash__ is None) is (standard.__hash__ is None)
    assert (ours.__hash__ is object.__hash__) is (standard.__hash__ is object.__hash__)
    for read in (
        lambda cls: cls.__match_args__,
        lambda cls: [f.name for f in dataclasses.fields(cls)],
        lambda cls: cls.__init__.__qualname__,
        lambda cls: repr(cls.__dataclass_params__),
        lambda cls: (cls.__doc__, cls.kind, cls.__qualname__),
        lambda cls: hasattr(cls, "tags"),
        lambda cls: getattr(cls, "__slots__", None) and set(cls.__slots__),
    ):
        assert read(ours) == read(standard)


def test_a_class_keeps_its_own_methods():
    @late(frozen=True)
    class Name:
        text: str

        def __eq__(self, other):
            return self.text.lower() == other.text.lower()

        def __hash__(self):
            return hash(self.text.lower())

    assert len({Name("a"), Name("A")}) == 1


@pytest.mark.parametrize(
    ("of_base", "decorator"),
    [(late, late), (late, dataclasses.dataclass), (dataclasses.dataclass, late)],
)
def test_fields_are_inherited_in_both_ways(of_base, decorator):
    @of_base(frozen=True, kw_only=True)
    class Base:
        a: int
        b: int = field(default=2)

    @decorator(frozen=True, kw_only=True)
    class Derived(Base):
        b: int = 3
        c: int

    class Plain(Derived):
        pass

    assert repr(Plain(a=1, c=4)).endswith("Plain(a=1, b=3, c=4)")
    assert (Base.b, Derived.b) == (2, 3)
    assert Base(a=1) == Base(a=1) != Base(a=2)
    with pytest.raises(FrozenInstanceError):
        Plain(a=1, c=4).a = 2


@late(frozen=True, slots=True)
class Kept:
    a: int
    b: str = "b"


def test_frozen_instances_with_slots_are_pickled():
    kept = Kept(3)
    assert pickle.loads(pickle.dumps(kept)) == kept == copy.copy(kept)
    match kept:
        case Kept(a, b):
            assert (a, b) == (3, "b")


def test_threads_may_use_a_new_class_at_once():
    threads = 8
    for _ in range(20):
        cls, barrier = point(late, frozen=True), Barrier(threads)

        def use(_, cls=cls, barrier=barrier):
            barrier.wait()
            return cls(1.0) == cls(1.0), repr(cls(2.0))

        with ThreadPoolExecutor(threads) as pool:
            assert len(set(pool.map(use, range(threads)))) == 1


def test_methods_are_not_compiled_before_they_are_used():
    code = """
import builtins, dataclasses
from hrp_model.late_dataclass import dataclass
compiled = []
execute = builtins.exec
builtins.exec = lambda text, *scope: compiled.append(text) or execute(text, *scope)
@dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.0
assert not compiled
assert Point(1.0).x == 1.0
assert compiled
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("options", **ALL)
def test_fields_and_options_are_the_same_whatever_is_used_first(options):
    ours, standard = both(**options)
    before = dataclasses.fields(ours)
    instance = ours(x=1.0)
    assert repr(instance)
    assert instance == instance
    assert all(a is b for a, b in zip(before, dataclasses.fields(ours), strict=True))
    assert repr(ours.__dataclass_params__) == repr(standard.__dataclass_params__)
