"""Parse VRML97 text: one method per rule of the grammar (ISO/IEC 14772-1, annex A)."""

from __future__ import annotations

from collections.abc import Mapping

from ...diagnostics import Diagnostics, Source, Span, did_you_mean
from ..paused_gc import paused_gc
from .field_types import FIELD_TYPES
from .node_parser import NodeParser
from .nodes import Declaration, Document, Node, Proto, Use
from .scalars import TemplateError, TooManyProblemsError, UnexpectedTokenError
from .tokens import TokenKind

_OTHER_LANGUAGES = (
    ("VRML 1.0", "#VRML V1.0", "vrml-1"),
    ("Open Inventor", "#Inventor", "vrml-1"),  # from which VRML 1.0 was made
    ("X3D", "#X3D", "x3d"),
)
_WITH_VALUE = frozenset(("field", "exposedField", "initializeOnly", "inputOutput"))
_WITHOUT_VALUE = frozenset(("eventIn", "eventOut", "inputOnly", "outputOnly"))


def parse(source: Source, diagnostics: Diagnostics, known: Mapping[str, Proto]) -> Document:
    """Parse a file, given the known node types by name; reports errors and does not raise them."""
    if _is_another_language(source, diagnostics):
        return Document(source, ())
    with paused_gc():
        return Parser(source, diagnostics, known).document()


def _is_another_language(source: Source, diagnostics: Diagnostics) -> bool:
    """Return whether a file is not VRML97 at all, after reporting that."""
    header = source.text.lstrip("\ufeff")[:10]
    for language, beginning, code in _OTHER_LANGUAGES:
        if header.startswith(beginning):
            message = f"this is {language}, not VRML97; save the model as VRML97 (VRML 2.0)"
            diagnostics.error(code, message, Span(source, 0, len(beginning)))
            return True
    if "\0" in source.text:
        message = "this is a binary file, not VRML text"
        diagnostics.error("not-text", message, Span(source, 0, 0))
        return True
    return False


class Parser(NodeParser):
    """Recursive descent over one file: its statements and declarations."""

    def __init__(
        self, source: Source, diagnostics: Diagnostics, known: Mapping[str, Proto]
    ) -> None:
        super().__init__(source, diagnostics, known)
        # In the current scope only: PROTOs in a body may hide others.
        self._declared_here: set[str] = set()

    def document(self) -> Document:
        """document: statement*."""
        nodes: list[Node | Use] = []
        try:
            self._statements(nodes)
            while self._lexer.kind is not TokenKind.END:
                self._report("expected a node")
                self._lexer.advance()
                self._statements(nodes)
        except TooManyProblemsError:
            message = "too many errors; the rest of the file is not read"
            self._diagnostics.error("too-many-errors", message, self._lexer.span())
        except RecursionError:
            message = "lists or nodes are nested too deeply"
            self._diagnostics.error("too-deep", message, self._lexer.span())
        except TemplateError as error:
            message = f"'{error.placeholder}' is a placeholder: fill in the template first"
            self._diagnostics.error("template", message, self._lexer.span())
        return Document(self._source, tuple(nodes))

    def _statements(self, nodes: list[Node | Use]) -> None:
        """statement*."""
        while self._lexer.kind is TokenKind.NAME:
            self._statement(nodes)

    def _statement(self, nodes: list[Node | Use]) -> None:
        """statement: "PROTO" ... | "EXTERNPROTO" ... | "ROUTE" ... | node."""
        start = self._lexer.start
        try:
            node = None if self._declaration() else self._node()
        except UnexpectedTokenError as error:
            self._recover(str(error), start)
        else:
            if node is not None:
                nodes.append(node)

    def _declaration(self) -> bool:
        word = self._lexer.text
        if self._lexer.kind is not TokenKind.NAME:
            return False
        if word == "PROTO":
            self._proto()
        elif word == "EXTERNPROTO":
            self._externproto()
        elif word == "ROUTE":
            self._route()
        else:
            return False
        return True

    # --- declarations

    def _proto(self) -> None:
        """proto: "PROTO" name "[" interface* "]" "{" statement* "}"."""
        self._lexer.advance()
        span = self._lexer.span()
        name = self._name("the name of the PROTO")
        fields, events = self._interface(with_defaults=True)
        body: tuple[Node, ...] = ()
        known = self._known.get(name)
        if known is not None and not known.body and self._at("{"):
            self._skip_braces()  # a known type: its body is not needed
        else:
            body = self._body()
        self._declare(Proto(name, fields, events, body=body), span)

    def _externproto(self) -> None:
        """externproto: "EXTERNPROTO" name "[" interface* "]" urls."""
        self._lexer.advance()
        span = self._lexer.span()
        name = self._name("the name of the EXTERNPROTO")
        fields, events = self._interface(with_defaults=False)
        self._any_value()
        self._declare(Proto(name, fields, events), span)
        message = f"EXTERNPROTO '{name}' is not loaded; its nodes are treated as groups"
        self._diagnostics.note("externproto", message, span)

    def _declare(self, proto: Proto, span: Span) -> None:
        """Add a type to the current scope; fields missing in a known type are added."""
        if proto.name in self._declared_here:
            message = f"'{proto.name}' is already declared above; from here on this one is used"
            self._diagnostics.warn("duplicate-proto", message, span)
        self._declared_here.add(proto.name)
        known = self._known.get(proto.name)
        if known is not None and not proto.body:
            undeclared = frozenset(known.fields.keys() - proto.fields.keys())
            complete = {**known.fields, **proto.fields}
            events = proto.events | known.events
            proto = Proto(proto.name, complete, events, undeclared, known.body)
        self.protos[proto.name] = proto

    def _interface(self, with_defaults: bool) -> tuple[dict[str, Declaration], frozenset[str]]:
        """interface: ("field" | "exposedField") type name default | ("eventIn" | ...) type name."""
        fields: dict[str, Declaration] = {}
        events: set[str] = set()
        self._expect("[")
        while not self._accept("]"):
            access = self._name("field, exposedField, eventIn, eventOut or ']'")
            if access not in _WITH_VALUE and access not in _WITHOUT_VALUE:
                raise UnexpectedTokenError(f"'{access}' is not a kind of field")
            span = self._lexer.span()
            type_name = self._name("a field type")
            name = self._name("the name of a field")
            field_type = FIELD_TYPES.get(type_name)
            if field_type is None:
                hint = did_you_mean(type_name, FIELD_TYPES)
                self._error("unknown-field-type", f"'{type_name}' is not a field type.{hint}", span)
            if access in _WITHOUT_VALUE:
                events.add(name)
            elif field_type is None:
                self._any_value()
            else:
                default = self._value(field_type) if with_defaults else None
                fields[name] = Declaration(field_type, default)
        return fields, frozenset(events)

    def _body(self) -> tuple[Node, ...]:
        """Parse the body of a PROTO, which has its own scope of DEF and PROTO names."""
        outer = self._defs, self.protos, self._in_body, self._declared_here
        self._defs, self.protos, self._in_body = {}, dict(self.protos), True
        self._declared_here = set()
        nodes: list[Node | Use] = []
        try:
            self._expect("{")
            self._statements(nodes)
            self._expect("}")
        finally:
            self._defs, self.protos, self._in_body, self._declared_here = outer
        return tuple(node for node in nodes if isinstance(node, Node))

    def _route(self) -> None:
        """route: "ROUTE" name "." event "TO" name "." event; skipped."""
        if not self._in_body:
            message = "a ROUTE animates a scene; it is ignored"
            self._diagnostics.note("route", message, self._lexer.span())
        for _ in range(3):
            self._lexer.advance_word()
        self._lexer.advance()
