"""Expand one xacro file; run as a program of its own, which has no access to files.

The expressions of a xacro file are Python. xacro evaluates them with few checks, so a file could
run any code. Here they may only calculate: see ``Expressions``. They may still take any time and
memory, so this process has limits of both. It reads no file and no variable itself: it asks its
parent for them, in lines of JSON (see ``expander``). It imports nothing of this package, so that
it starts fast.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import resource
import signal
import sys
import xml.dom.minidom as dom
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, SimpleNamespace
from typing import IO, Any, NoReturn
from xml.dom.expatbuilder import ExpatBuilderNS
from xml.parsers import expat

import xacro
import yaml
from xacro import substitution_args

_MAX_CPU_TIME = 20  # [s]
_MAX_MEMORY = 1 << 30  # [B]
_MAX_MESSAGE = 2000  # characters of what a file prints
_PLACE = "place"
_GET = "@attribute"  # no expression can contain this name

_NODES = (
    *(ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call),
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.keyword),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.FormattedValue, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
    *(ast.arguments, ast.arg, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)
_METHODS: dict[type, tuple[str, ...]] = {
    str: (
        *("capitalize", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit"),
        *("islower", "isnumeric", "isspace", "isupper", "join", "ljust", "lower", "lstrip"),
        *("partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust"),
        *("rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip"),
        *("swapcase", "title", "upper", "zfill"),
    ),
    list: (
        *("append", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse"),
        *("sort", "clear"),
    ),
    tuple: ("count", "index"),
    dict: ("copy", "get", "items", "keys", "pop", "setdefault", "update", "values"),
    set: ("add", "difference", "discard", "intersection", "issubset", "issuperset", "union"),
    float: ("is_integer",),
}
# From values of these, expressions could get at the insides of Python.
_HIDDEN = ("type", "vars")


class RefusedError(Exception):
    """The file cannot be expanded; the first argument says why, the second is a code."""

    def __init__(self, message: str, code: str = "xacro-error") -> None:
        super().__init__(message)
        self.code = code


class Expressions(ast.NodeTransformer):
    """Compiles expressions that can only calculate.

    Statements and names with a leading underscore are refused. Attributes are looked up by
    ``_attribute``: entries of namespaces and mappings, and some methods of texts, lists,
    mappings and numbers.
    """

    def compiled(self, text: str) -> CodeType:
        """Return the code of an expression; raises RefusedError or SyntaxError."""
        tree = self.visit(ast.parse(text.strip(), "<expression>", "eval"))
        return compile(ast.fix_missing_locations(tree), "<expression>", "eval")

    def visit(self, node: ast.AST) -> Any:
        """Return a node with replaced attributes."""
        if not isinstance(node, _NODES):
            raise RefusedError(f"expressions must not contain a {type(node).__name__}")
        names = [getattr(node, key, None) for key in ("id", "arg", "attr")]
        if any(isinstance(name, str) and name.startswith("_") for name in names):
            raise RefusedError("names in expressions must not begin with '_'")
        return super().visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace ``value.name`` by a call of ``_attribute``."""
        arguments = [self.visit(node.value), ast.Constant(node.attr)]
        return ast.Call(ast.Name(_GET, ast.Load()), arguments, [])


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute of a value in an expression."""
    if isinstance(value, xacro.NameSpace):
        return value[name]
    for kind, methods in _METHODS.items():
        if isinstance(value, kind) and name in methods:
            return getattr(value, name)
    if isinstance(value, xacro.YamlDictWrapper):
        return value[name]
    raise RefusedError(f"expressions cannot use '{name}' of a {type(value).__name__}")


def evaluate(text: str, names: dict[str, Any], local: Mapping[str, Any] | None = None) -> Any:
    """Return the value of an expression; replaces ``xacro.safe_eval``."""
    code = Expressions().compiled(text)
    dict.__setitem__(names, "__builtins__", {_GET: _attribute})
    return eval(code, names, local)


class _Arguments(dict[str, str]):
    """The arguments of a file; knows which of them the file has asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.known: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.known.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.known.add(name)
        return super().__getitem__(name)


class _Builder(ExpatBuilderNS):
    """Builds a document whose elements know their file and place."""

    def __init__(self, file: int) -> None:
        super().__init__()
        self._file = file

    def createParser(self) -> Any:  # noqa: N802 - of ExpatBuilder
        """Return a parser that ignores the encoding that the text declares."""
        parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        parser.namespace_prefixes = True
        return parser

    def start_element_handler(self, name: str, attributes: Any) -> None:
        """Add an element, and its place."""
        super().start_element_handler(name, attributes)
        place = self._file, self.getParser().CurrentByteIndex
        self.curNode.setUserData(_PLACE, place, _CopyPlace)


class _CopyPlace:
    """Gives clones of an element, as those of macros, its place."""

    @staticmethod
    def handle(_operation: int, key: str, place: object, _source: dom.Node, copy: Any) -> None:
        copy.setUserData(key, place, _CopyPlace)


class _Expansion:
    """The expansion of one file; replaces functions of xacro by those that ask the parent."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers

    def send(self, **message: object) -> None:
        """Send a message to the parent."""
        self._answers.write(f"{json.dumps(message)}\n")
        self._answers.flush()

    def receive(self) -> Any:
        """Return the next message of the parent."""
        line = self._requests.readline()
        if not line:
            sys.exit(1)
        return json.loads(line)

    def _ask(self, what: str, name: str, file: str = "") -> Any:
        """Return the answer to a request; raises RefusedError if the parent refuses.

        Args:
            what: "file", "yaml", "package" or "variable".
            name: Its name.
            file: The file with the reference.
        """
        if not isinstance(name, str):
            raise RefusedError(f"the name of a file must be a text, not {name!r}")
        self.send(ask=what, name=name, file=file)
        answer = self.receive()
        if "refused" in answer:
            raise RefusedError(answer["refused"], answer["code"])
        return answer

    def install(self) -> None:
        """Replace functions of xacro."""
        xacro.safe_eval = evaluate
        xacro.parse = self._parse
        xacro.load_yaml = self._load_yaml
        xacro.glob = SimpleNamespace(glob=_refuse_pattern)
        for name in ("message", "warning", "error", "print_location"):
            setattr(xacro, name, self._printer(name))
        xacro._global_symbols = xacro.create_global_symbols()
        for hidden in _HIDDEN:
            xacro._global_symbols["python"].pop(hidden, None)
        # Created after the symbols, which have ``abs_filename``: the parent resolves names.
        xacro.abs_filename_spec = lambda name: name
        substitution_args._eval_find = lambda name: self._ask("package", name)["value"]
        substitution_args._eval_env = self._variable
        substitution_args._eval_optenv = self._optional_variable
        substitution_args._eval = self._evaluate_extension

    def expand(self, path: str, arguments: Mapping[str, str]) -> None:
        """Expand a file, and send its elements or the problem."""
        given = _Arguments(arguments)
        try:
            xacro.init_stacks(path)
            document = xacro.parse(None, path)
            xacro.process_doc(document, mappings=given, verbosity=0)
            elements = list(_elements(document.documentElement))
        except Exception as error:
            self.send(**_problem(error))
            return
        unknown = sorted(set(arguments) - given.known)
        self.send(elements=elements, unknown=unknown, known=sorted(given.known))

    def _parse(self, _text: None, path: str) -> dom.Document:
        try:
            answer = self._ask("file", path, file=(xacro.filestack[-2:-1] or [""])[0])
        except RefusedError as error:
            xacro.filestack.pop()  # as xacro does
            # xacro recognizes missing files of optional includes by this type.
            raise xacro.XacroException(exc=OSError(*error.args), suffix=error.code) from error
        path = answer["path"]
        if path in xacro.filestack[:-1]:
            names = " -> ".join(os.path.basename(name) for name in (*xacro.filestack[:-1], path))
            raise RefusedError(f"files include each other: {names}", "resource-cycle")
        xacro.filestack[-1] = path
        document: dom.Document = _Builder(answer["file"]).parseString(answer["text"])
        return document

    def _load_yaml(self, name: str) -> Any:
        answer = self._ask("yaml", name, file=xacro.filestack[-1])
        for unit in xacro.ConstructUnits:
            yaml.SafeLoader.add_constructor(unit.value.tag, unit.constructor)
        try:
            return xacro.YamlListWrapper.wrap(yaml.safe_load(answer["text"]))
        except yaml.YAMLError as error:
            raise RefusedError(f"'{name}' is not valid YAML: {error}") from None

    def _variable(self, name: str) -> str:
        value: str | None = self._ask("variable", name)["value"]
        if value is None:
            raise RefusedError(f"the environment variable {name} is not set", "missing-resource")
        return value

    def _optional_variable(self, name: str, default: str = "") -> str:
        value: str | None = self._ask("variable", name)["value"]
        return default if value is None else value

    def _evaluate_extension(self, text: str, context: Mapping[str, Mapping[str, str]]) -> str:
        """Return the value of ``$(eval ...)``."""

        def argument(name: str) -> object:
            return substitution_args.convert_value(context["arg"][name], "auto")

        plain = {k: v for k, v in vars(math).items() if not k.startswith("_")}
        kinds = {kind.__name__: kind for kind in (list, dict, map, str, float, int)}
        names = {**plain, **kinds, "true": True, "false": False, "arg": argument}
        names |= {
            "env": self._variable,
            "optenv": self._optional_variable,
            "find": substitution_args._eval_find,
        }
        used = set(re.findall(r"\w+", text)) & context["arg"].keys()
        values = {name: argument(name) for name in used - names.keys()}
        return str(evaluate(text, {**values, **names}))

    def _printer(self, name: str) -> Callable[..., None]:
        def send(*words: object, **_: object) -> None:
            if words:
                place = _place_in(_frames(sys._getframe(1)))
                text = " ".join(map(str, words))[:_MAX_MESSAGE]
                self.send(said=name, text=text, at=place)

        send.__name__ = name
        return send


def _refuse_pattern(pattern: str) -> NoReturn:
    raise RefusedError(f"patterns are not supported: include the files of '{pattern}' one by one")


def _elements(root: Any) -> Iterator[tuple[object, ...]]:
    """Yield tag, attributes, text, place and depth of all elements, parents first."""
    pending = [(root, 0)]
    while pending:
        element, depth = pending.pop()
        texts = (
            x.data for x in element.childNodes if x.nodeType in (x.TEXT_NODE, x.CDATA_SECTION_NODE)
        )
        # An <xacro:attribute> may have set a number.
        attributes = {name: str(value) for name, value in element.attributes.items()}
        yield (
            element.tagName,
            attributes,
            "".join(texts).strip(),
            element.getUserData(_PLACE),
            depth,
        )
        inner = [x for x in element.childNodes if x.nodeType == x.ELEMENT_NODE]
        pending += ((x, depth + 1) for x in reversed(inner))


def _problem(error: Exception) -> dict[str, object]:
    """Return the message about an exception, with the place of the element that caused it."""
    frames = _traceback_frames(error)
    callers = [
        {"macro": node.tagName, "at": node.getUserData(_PLACE)}
        for frame in frames
        if frame.f_code.co_name == "handle_macro_call"
        and isinstance(node := frame.f_locals.get("node"), dom.Element)
    ]
    message, code = _explained(error)
    at = _place_in(frames)
    callers = [caller for caller in callers if caller["at"] != at]
    return {"problem": message, "code": code, "at": at, "callers": callers[:1]}


def _explained(error: Exception) -> tuple[str, str]:
    """Return message and code of an exception of xacro, which may wrap others."""
    inner: Any = error
    suffix = ""
    while isinstance(inner, xacro.XacroException) and isinstance(inner.exc, Exception):
        if isinstance(inner.exc, OSError):  # of _parse
            return str(inner.exc), str(inner.suffix)
        suffix = suffix or (inner.suffix or "").strip()
        inner = inner.exc
    code = getattr(inner, "code", "xacro-error")
    if isinstance(inner, RecursionError):
        return (
            "macros or files are nested too deeply: does one call itself without end?",
            "too-deep",
        )
    if isinstance(inner, MemoryError):
        return f"the expansion needs more than {_MAX_MEMORY >> 20} MB of memory", "too-large"
    if isinstance(inner, substitution_args.ArgException):
        return f"the argument '{inner}' is not given: append {inner}:=VALUE to the file", code
    message = "; ".join(str(inner).splitlines()) or type(inner).__name__
    if isinstance(inner, KeyError):
        message = f"there is no {message}"
    message = f"{message}, {suffix}" if suffix else message
    return message, code if isinstance(code, str) else "xacro-error"


def _traceback_frames(error: Exception) -> list[FrameType]:
    """Return the frames of an exception and of those that it was raised for, innermost first."""
    chained: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in chained:
        chained.append(found)
        found = found.__cause__ or found.__context__
    frames: list[FrameType] = []
    for part in reversed(chained):
        own = []
        trace = part.__traceback__
        while trace is not None:
            own.append(trace.tb_frame)
            trace = trace.tb_next
        frames += reversed(own)
    return frames


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _place_in(frames: Any) -> object:
    """Return the place of the innermost element that a function of xacro is working on."""
    for frame in frames:
        for name in ("node", "elt"):
            node = frame.f_locals.get(name)
            while isinstance(node, dom.Node):
                if isinstance(node, dom.Element) and (place := node.getUserData(_PLACE)):
                    return place
                node = node.parentNode
    return None


def _refuse_time(_signal: int, _frame: object) -> None:
    message = f"the expansion takes more than {_MAX_CPU_TIME} s: does a macro repeat without end?"
    raise RefusedError(message, "too-large")


def _limit() -> None:
    """Limit time and memory, and forbid access to files, processes and the network."""
    signal.signal(signal.SIGXCPU, _refuse_time)
    for kind, limit, last in (
        # After the signal, the process has two more seconds to report where it was.
        (resource.RLIMIT_CPU, _MAX_CPU_TIME, _MAX_CPU_TIME + 2),
        (resource.RLIMIT_AS, _MAX_MEMORY, _MAX_MEMORY),
        (resource.RLIMIT_FSIZE, 0, 0),
    ):
        _, highest = resource.getrlimit(kind)
        if highest != resource.RLIM_INFINITY:
            limit, last = min(limit, highest), min(last, highest)
        resource.setrlimit(kind, (limit, last))
    forbidden = ("open", "os.", "socket.", "subprocess.", "ctypes.", "shutil.", "pty.", "import")

    def refuse(event: str, _arguments: object) -> None:
        if event.startswith(forbidden):
            raise RefusedError(f"expressions must not use {event}")

    sys.addaudithook(refuse)


def main() -> None:
    """Expand the file that the parent names."""
    expansion = _Expansion(sys.stdin, sys.stdout)
    request = expansion.receive()
    expansion.install()
    _limit()
    expansion.expand(request["path"], request["arguments"])


if __name__ == "__main__":
    main()
