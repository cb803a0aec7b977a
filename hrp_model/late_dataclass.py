"""Dataclasses whose methods are generated when they are first used."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import threading
from collections.abc import Callable
from dataclasses import MISSING, Field
from typing import TYPE_CHECKING, Any

_LOCK = threading.Lock()


class _Late:
    """An attribute of a dataclass until it is used."""

    def __init__(self, cls: type, name: str, generate: Callable[[str], None]) -> None:
        self._cls, self._name, self._generate = cls, name, generate

    def __get__(self, instance: object, owner: type) -> object:
        self._generate(self._name)
        value = vars(self._cls)[self._name]
        return value.__get__(instance, owner) if hasattr(value, "__get__") else value


def _refuse(self: object, name: str, *_: object) -> None:  # noqa: ARG001
    raise dataclasses.FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _late_dataclass(
    cls: Any = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False, **rest: bool
) -> Any:
    """Return a class as ``dataclasses.dataclass`` does, with the same methods, but later.

    The standard decorator compiles up to eight methods of each class, which took a quarter of the
    time of short commands, although they use few of them. Here each is compiled by itself.
    """
    options = {"frozen": frozen, "eq": eq, "slots": slots, **rest}
    if cls is None:
        return lambda cls: _late_dataclass(cls, **options)
    own = {name: v for name, v in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    own |= {"__qualname__": cls.__qualname__, "__doc__": cls.__doc__ or cls.__name__}
    if own.get("__hash__", ...) is None:  # set by Python, as the class defines __eq__
        del own["__hash__"]
    if slots:
        types = inspect.get_annotations(cls).items()
        fields = tuple(name for name, of in types if "ClassVar" not in str(of))
        others = {name: value for name, value in own.items() if name not in fields}
        cls = type(cls)(cls.__name__, cls.__bases__, {**others, "__slots__": fields})
    else:
        for name, value in own.items():
            if isinstance(value, Field):
                delattr(cls, name)
                if value.default is not MISSING:
                    setattr(cls, name, value.default)

    late = ["__dataclass_fields__", "__dataclass_params__", "__match_args__", "__repr__"]
    late += ["__init__", *(["__eq__"] if eq else [])]
    late += ["__replace__"] if sys.version_info >= (3, 13) else []
    if frozen:
        cls.__setattr__ = cls.__delattr__ = _refuse
        late += [
            *(["__hash__"] if eq else []),
            *(["__getstate__", "__setstate__"] if slots else []),
        ]
    elif eq and "__hash__" not in own:
        cls.__hash__ = None
    late = [name for name in late if name not in own]

    def generate(wanted: str) -> None:
        # taken from a second class, so that no other thread finds this one without methods
        twin = type(cls)(cls.__name__, cls.__bases__, own)
        parts = {"init": wanted == "__init__", "repr": wanted == "__repr__"}
        parts |= {"eq": wanted in ("__eq__", "__hash__")}
        value = vars(dataclasses.dataclass(**options | parts)(twin))[wanted]
        if wanted == "__dataclass_params__":
            value.init, value.repr, value.eq = True, True, eq
        with _LOCK:
            if isinstance(vars(cls)[wanted], _Late):
                setattr(cls, wanted, value)

    for name in late:
        setattr(cls, name, _Late(cls, name, generate))
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _late_dataclass
