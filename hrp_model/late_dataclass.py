"""Dataclasses whose methods are generated when they are first used."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import threading
from collections.abc import Callable
from dataclasses import MISSING, Field, field
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


def _types(cls: type) -> dict[str, Any]:
    """Return the types of a class's own fields."""
    return {k: of for k, of in inspect.get_annotations(cls).items() if "ClassVar" not in str(of)}


def _fields(cls: type) -> dict[str, tuple[Any, Any, bool]]:
    """Return type, field and whether it is keyword-only, of all fields by name."""
    fields: dict[str, tuple[Any, Any, bool]] = {}
    for base in reversed(cls.__mro__):
        if "__late__" in vars(base):
            own, is_keyword = vars(base)["__late__"]
            for name, of in _types(base).items():
                value = own.get(name, MISSING)
                is_field = isinstance(value, Field)
                fields[name] = of, value if is_field else field(default=value), is_keyword
        elif "__dataclass_fields__" in vars(base):
            fields |= {f.name: (f.type, f, bool(f.kw_only)) for f in dataclasses.fields(base)}
    return fields


def _init(cls: type, is_frozen: bool, has_slots: bool) -> Any:
    """Return ``__init__``; the standard one is the same, but takes five times as long to make."""
    arguments: list[str] = []
    keywords: list[str] = []
    types, lines = {}, []
    scope: dict[str, Any] = {"__set": object.__setattr__, "__name__": cls.__module__}
    for name, (of, own, is_keyword) in _fields(cls).items():
        default, value, argument = f"__default_{name}", name, name
        if own.default_factory is not MISSING:
            scope[default], argument = own.default_factory, f"{name}=..."
            value = f"{default}() if {name} is ... else {name}" if own.init else f"{default}()"
        elif own.default is not MISSING:
            scope[default], argument = own.default, f"{name}={default}"
            value = name if own.init else default
        if own.init:
            (keywords if is_keyword else arguments).append(argument)
            types[name] = of
        elif value == name or (value == default and not has_slots):
            continue  # it keeps the default of the class, or has none
        lines.append(f"__set(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    signature = ", ".join(["self", *arguments, *(["*"] if keywords else []), *keywords])
    exec(f"def __init__({signature}):\n " + "\n ".join(lines or ["pass"]), scope)
    made = scope["__init__"]
    made.__annotations__ = {**types, "return": None}
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _late_dataclass(
    cls: Any = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False, **rest: bool
) -> Any:
    """Return a class as ``dataclasses.dataclass`` does, with the same methods, but later.

    The standard decorator compiles up to eight methods of each class, which took a quarter of the
    time of short commands, although they use few of their classes.
    """
    options = {"frozen": frozen, "eq": eq, "slots": slots, **rest}
    if cls is None:
        return lambda cls: _late_dataclass(cls, **options)
    own = {name: v for name, v in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    own |= {"__qualname__": cls.__qualname__, "__doc__": cls.__doc__ or cls.__name__}
    if own.get("__hash__", ...) is None:  # set by Python, as the class defines __eq__
        del own["__hash__"]
    if slots:
        types = _types(cls)
        others = {name: value for name, value in own.items() if name not in types}
        cls = type(cls)(cls.__name__, cls.__bases__, {**others, "__slots__": tuple(types)})
    else:
        for name, value in own.items():
            if isinstance(value, Field):
                delattr(cls, name)
                if value.default is not MISSING:
                    setattr(cls, name, value.default)
    cls.__late__ = own, rest.get("kw_only", False)

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
        if wanted == "__init__":
            made: dict[str, Any] = {wanted: _init(cls, frozen, slots)}
        else:  # taken from a second class, so that no other thread finds this one without methods
            twin = type(cls)(cls.__name__, cls.__bases__, own)
            made = vars(dataclasses.dataclass(**options, init=False)(twin))
            made["__dataclass_params__"].init = True
        with _LOCK:
            for name in late:
                if name in made and isinstance(vars(cls)[name], _Late):
                    setattr(cls, name, made[name])

    for name in late:
        setattr(cls, name, _Late(cls, name, generate))
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _late_dataclass
