"""Parse VRML97 text: one method per rule of the grammar (ISO/IEC 14772-1, annex A).

After an error, a parser goes on with the next node or field.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from ...diagnostics import Diagnostics, Source, Span, did_you_mean
from ..number_list import paused_gc
from .nodes import FIELD_TYPES, Declaration, Document, FieldType, Is, Kind, Node, Proto, Use
from .tokens import (
    ScalarParser,
    TemplateError,
    TokenKind,
    TooManyProblemsError,
    UnexpectedTokenError,
)

# Each joint of a chain is one level. Each level takes three calls of Python's stack.
MAX_DEPTH = 200
_NODES, _TEXT, _VECTOR = (FIELD_TYPES[name] for name in ("MFNode", "SFString", "SFVec3f"))
_OTHER_LANGUAGES = (
    ("VRML 1.0", "#VRML V1.0", "vrml-1"),
    ("Open Inventor", "#Inventor", "vrml-1"),  # from which VRML 1.0 was made
    ("X3D", "#X3D", "x3d"),
)
_WITH_VALUE = frozenset(("field", "exposedField", "initializeOnly", "inputOutput"))
_WITHOUT_VALUE = frozenset(("eventIn", "eventOut", "inputOnly", "outputOnly"))


class NodeParser(ScalarParser):
    """Parses nodes; declarations are left to its subclass.

    Attributes:
        protos: Node types that the file declares, in the current scope.
    """

    def __init__(
        self, source: Source, diagnostics: Diagnostics, known: Mapping[str, Proto]
    ) -> None:
        super().__init__(source, diagnostics)
        self.protos: dict[str, Proto] = {}
        self._known = known
        # By DEF name: the first and the latest node, and whether they differ.
        self._defs: dict[str, tuple[Node, Node, bool]] = {}
        self._in_body = False
        self._depth = 0

    @abstractmethod
    def _declaration(self) -> bool:
        """Parse a PROTO, EXTERNPROTO or ROUTE, if the current token starts one."""

    def _node(self) -> Node | Use | None:
        """node: ["DEF" name] type "{" (field value)* "}" | "USE" name | "NULL"."""
        lexer = self._lexer
        if lexer.text == "NULL" or lexer.text == "USE":
            return self._use()
        name = ""
        if lexer.text == "DEF":
            name = self._def_name()
        node = Node(self._type(), name, self._source, lexer.start, lexer.end)
        lexer.advance()
        if node.type_name == "Script" or self._depth >= MAX_DEPTH:
            self._skip_node(node)
        else:
            self._expect("{")
            self._depth += 1
            while self._field(node):
                pass
            self._depth -= 1
            node.end = lexer.end
            lexer.advance()
        if name:
            first = self._defs[name][0] if name in self._defs else node
            self._defs[name] = first, node, self._differ(first, node)
        return node

    def _differ(self, one: Node, other: Node) -> bool:
        text, length = self._source.text, one.end - one.start
        if length != other.end - other.start:
            return True
        return one is not other and text[one.start : one.end] != text[other.start : other.end]

    def _def_name(self) -> str:
        """Parse the name after DEF; the current token is then the node's type."""
        self._lexer.advance_word()
        # "DEF Transform {", in Choreonoid's tank model.
        if self._lexer.kind is TokenKind.NAME and self._lexer.opens_node():
            message = f"there is no name between DEF and '{self._lexer.text}'"
            self._diagnostics.warn("missing-def-name", message, self._lexer.span())
            return ""
        return self._name("a name after DEF")

    def _use(self) -> Use | None:
        lexer = self._lexer
        if lexer.text == "NULL":
            lexer.advance()
            return None
        lexer.advance_word()
        span = lexer.span()
        name = self._name("a name after USE")
        first, latest, differ = self._defs.get(name, (None, None, False))
        return Use(name, latest, first if differ else None, span)

    def _type(self) -> Proto:
        """Return the type that the current token names, without advancing."""
        if self._lexer.kind is not TokenKind.NAME:
            self._unexpected("the type of a node")
        name = self._lexer.text
        known = self.protos.get(name) or self._known.get(name)
        if known is not None:
            return known
        if not self._lexer.opens_node():
            self._unexpected("a node")
        hint = did_you_mean(name, [*self.protos, *self._known])
        message = f"node type '{name}' is unknown; only its pose and children are read.{hint}"
        self._diagnostics.warn("unknown-node", message, self._lexer.span())
        return Proto(name, {}, is_known=False)

    def _field(self, node: Node) -> bool:
        """field: name value. Return False at the end of the node."""
        lexer = self._lexer
        if lexer.kind is not TokenKind.NAME:
            if self._at("}"):
                return False
            self._report(f"expected a field of {node.type_name} or '}}'")
            self._any_value()
            return not self._at_end()
        try:
            if self._declaration():
                return True
            name, start = lexer.text, lexer.start
            lexer.advance()
            if lexer.kind is TokenKind.NAME and lexer.text == "IS":
                value: object = self._is()
            elif name not in node.type.fields:
                value = self._undeclared_value(node, name, start)
            elif node.type.fields[name].type is _NODES:
                value = self._nodes()
            else:
                value = self._value(self._type_of_value(node, name))
        except UnexpectedTokenError as error:
            self._report(str(error))
            wrong_word = lexer.kind is TokenKind.NAME and lexer.text not in node.type.fields
            wrong_value = lexer.kind in (TokenKind.NUMBER, TokenKind.STRING) or self._at("[")
            if wrong_word or wrong_value:
                self._any_value()
            return not self._at_end()
        self._store(node, name, start, value)
        return True

    def _type_of_value(self, node: Node, name: str) -> FieldType:
        """Return the type of a field; for a ``jointAxis`` that of the value, a string or a vector.

        OpenHRP's PROTOs declare one or the other, so files without PROTOs use both.
        """
        declared = node.type.fields[name].type
        if name == "jointAxis" and declared in (_TEXT, _VECTOR):
            return {TokenKind.STRING: _TEXT, TokenKind.NUMBER: _VECTOR}.get(
                self._lexer.kind, declared
            )
        return declared

    def _store(self, node: Node, name: str, start: int, value: object) -> None:
        span = Span(self._source, start, start + len(name))
        if name in node.values:
            message = f"'{name}' is written twice in this {node.type_name}; the last one is used"
            self._diagnostics.warn("duplicate-field", message, span)
        if name in node.type.undeclared:
            message = f"the PROTO {node.type_name} of this file does not declare '{name}'"
            self._diagnostics.warn("undeclared-field", message, span)
        if name in node.type.fields or not node.type.is_known:
            node.values[name] = value
            node.places[name] = start

    def _undeclared_value(self, node: Node, name: str, start: int) -> object:
        """Parse the value of a field that the node's type does not have, with a warning."""
        if node.type.is_known and name not in node.type.events:
            hint = did_you_mean(name, node.type.fields)
            message = f"{node.type_name} has no field '{name}'; it is ignored.{hint}"
            span = Span(self._source, start, start + len(name))
            self._diagnostics.warn("unknown-field", message, span)
        if name == "children":
            return self._nodes()
        return self._any_value()

    def _is(self) -> Is:
        span = self._lexer.span()
        self._lexer.advance()
        if not self._in_body:
            self._error("stray-is", "IS is only allowed in the body of a PROTO", span)
        return Is(self._name("the name of a field of the PROTO"))

    # --- values

    def _value(self, field_type: FieldType) -> object:
        """value: single | "[" single* "]", the brackets only for MF types."""
        if field_type.kind is not Kind.NODE:
            return self._scalars(field_type)
        if field_type.many:
            return self._nodes()
        if self._lexer.kind is not TokenKind.NAME:
            self._unexpected("a node")
        return self._node()

    def _nodes(self) -> tuple[Node | Use, ...]:
        """A list of nodes, or one node without brackets; NULL is skipped."""
        nodes: list[Node | Use] = []
        if not self._at("["):
            if self._lexer.kind is not TokenKind.NAME:
                self._unexpected("a node or '['")
            node = self._node()
            return () if node is None else (node,)
        self._lexer.advance()
        while not self._at("]"):
            if self._lexer.kind is TokenKind.END or self._at("}"):
                self._unexpected("a node or ']'")
            start = self._lexer.start
            try:  # inline: another method would deepen the stack by a third
                # Declarations are not allowed in a list, but Choreonoid skips them.
                node = None if self._declaration() else self._node()
            except UnexpectedTokenError as error:
                self._recover(str(error), start)
            else:
                if node is not None:
                    nodes.append(node)
        self._lexer.advance()
        return tuple(nodes)

    def _any_value(self) -> object:
        """Parse a value of any type: a list, a node, a string, numbers or a word.

        Advances by at least one token, except at a closing brace or the end of the file.
        """
        lexer = self._lexer
        if self._at("["):
            lexer.advance()
            items: list[object] = []
            while not self._accept("]"):
                if lexer.kind is TokenKind.END or self._at("}"):
                    self._report("expected ']'")
                    break
                items.append(self._any_value())
            return tuple(items)
        if lexer.kind is TokenKind.NUMBER:
            return tuple(self._numbers_one_by_one(integer=False).tolist())
        if lexer.kind is TokenKind.STRING:
            return self._scalars(FieldType(Kind.STRING))
        if lexer.kind is TokenKind.NAME:
            if lexer.text in ("DEF", "USE", "NULL") or lexer.opens_node():
                return self._node()
            word = lexer.text
            lexer.advance()
            return word == "TRUE" if word in ("TRUE", "FALSE") else word
        if self._at("{"):
            self._skip_braces()
        elif not self._at("}") and lexer.kind is not TokenKind.END:
            lexer.advance()
        return None

    def _skip_node(self, node: Node) -> None:
        """Skip the contents of a Script, or of a node that is nested too deeply."""
        if node.type_name == "Script":
            self._diagnostics.note("script", "a Script is not run", node.span)
        else:
            message = f"nodes are nested more than {MAX_DEPTH} levels deep"
            self._error("too-deep", message, node.span)
        self._skip_braces()


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
