"""Tokens to syntax tree: one method per rule of the grammar (ISO/IEC 14772-1, annex A)."""

from __future__ import annotations

from collections.abc import Mapping

from ..diagnostics import Diagnostics, Source, Span, did_you_mean
from .nodes import Document, Is, Node, Use
from .scalars import ScalarParser, TooManyProblemsError, UnexpectedTokenError
from .schema import FIELD_TYPES, Declaration, FieldType, Kind, Proto
from .tokens import TokenKind

# A chain of joints is one level each; past this a file is not a model, and Python's own
# stack is not far (three calls a level).
MAX_DEPTH = 200
_NODES = FIELD_TYPES["MFNode"]
_WITH_VALUE = frozenset(("field", "exposedField", "initializeOnly", "inputOutput"))
_WITHOUT_VALUE = frozenset(("eventIn", "eventOut", "inputOnly", "outputOnly"))


def parse(source: Source, diagnostics: Diagnostics, known: Mapping[str, Proto]) -> Document:
    """Parse a file, given the node types known by name. Errors are reported, never raised."""
    return Parser(source, diagnostics, known).document()


class Parser(ScalarParser):
    """Recursive descent over one file.

    Attributes:
        protos: The node types that the file declares.
    """

    def __init__(
        self, source: Source, diagnostics: Diagnostics, known: Mapping[str, Proto]
    ) -> None:
        super().__init__(source, diagnostics)
        self.protos: dict[str, Proto] = {}
        self._known = known
        self._defs: dict[str, tuple[Node, Node]] = {}  # the first and the latest of a name
        self._in_body = False
        self._depth = 0

    def document(self) -> Document:
        """document: statement*."""
        nodes: list[Node | Use] = []
        if self._source.text.lstrip("\ufeff").startswith("#VRML V1.0"):
            message = "this is VRML 1.0, another language; save the model as VRML 2.0 (VRML97)"
            self._diagnostics.error("vrml-1", message, Span(self._source, 0, 10))
            return Document(self._source, ())
        if "\0" in self._source.text:
            message = "this is a binary file, no VRML text"
            self._diagnostics.error("not-text", message, Span(self._source, 0, 0))
            return Document(self._source, ())
        try:
            self._statements(nodes)
            while self._lexer.kind is not TokenKind.END:
                self._report("expected a node")
                self._lexer.advance()
                self._statements(nodes)
        except TooManyProblemsError:
            message = "so many errors; the rest of the file is not read"
            self._diagnostics.error("too-many-errors", message, self._lexer.span())
        except RecursionError:
            message = "lists or nodes stand too deep in one another"
            self._diagnostics.error("too-deep", message, self._lexer.span())
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
        """Take a PROTO, EXTERNPROTO or ROUTE, if one stands here."""
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
        name = self._name("the name of the PROTO")
        fields, events = self._interface(with_defaults=True)
        body: tuple[Node, ...] = ()
        if name in self._known and self._at("{"):
            self._skip_braces()  # what it means is known by its name
        else:
            body = self._body()
        self._declare(name, fields, events, body)

    def _externproto(self) -> None:
        """externproto: "EXTERNPROTO" name "[" interface* "]" urls."""
        span = self._lexer.span()
        self._lexer.advance()
        name = self._name("the name of the EXTERNPROTO")
        fields, events = self._interface(with_defaults=False)
        self._any_value()
        self._declare(name, fields, events, ())
        message = f"EXTERNPROTO '{name}' is not fetched; its nodes count as groups"
        self._diagnostics.note("externproto", message, span)

    def _declare(
        self,
        name: str,
        fields: dict[str, Declaration],
        events: frozenset[str],
        body: tuple[Node, ...],
    ) -> None:
        known = self._known.get(name)
        if known is None:
            self.protos[name] = Proto(name, fields, events, body=body)
            return
        undeclared = frozenset(known.fields.keys() - fields.keys())
        complete = {**known.fields, **fields}
        self.protos[name] = Proto(name, complete, events | known.events, undeclared)

    def _interface(self, with_defaults: bool) -> tuple[dict[str, Declaration], frozenset[str]]:
        """interface: ("field" | "exposedField") type name default | ("eventIn" | ...) type name."""
        fields: dict[str, Declaration] = {}
        events: set[str] = set()
        self._expect("[")
        while not self._accept("]"):
            access = self._name("field, exposedField, eventIn, eventOut or ']'")
            if access not in _WITH_VALUE and access not in _WITHOUT_VALUE:
                raise UnexpectedTokenError(f"'{access}' is no kind of field")
            span = self._lexer.span()
            type_name = self._name("a field type")
            name = self._name("the name of a field")
            field_type = FIELD_TYPES.get(type_name)
            if field_type is None:
                hint = did_you_mean(type_name, FIELD_TYPES)
                self._error("unknown-field-type", f"'{type_name}' is no field type.{hint}", span)
            if access in _WITHOUT_VALUE:
                events.add(name)
            elif field_type is None:
                self._any_value()
            else:
                default = self._value(field_type) if with_defaults else None
                fields[name] = Declaration(field_type, default)
        return fields, frozenset(events)

    def _body(self) -> tuple[Node, ...]:
        """The body of a PROTO: a scope of its own for DEF and PROTO names."""
        outer = self._defs, self.protos, self._in_body
        self._defs, self.protos, self._in_body = {}, dict(self.protos), True
        nodes: list[Node | Use] = []
        try:
            self._expect("{")
            self._statements(nodes)
            self._expect("}")
        finally:
            self._defs, self.protos, self._in_body = outer
        return tuple(node for node in nodes if isinstance(node, Node))

    def _route(self) -> None:
        """route: "ROUTE" name "." event "TO" name "." event. Nothing here moves by itself."""
        if not self._in_body:
            message = "a ROUTE animates a scene; robots have no use for it"
            self._diagnostics.note("route", message, self._lexer.span())
        for _ in range(3):
            self._lexer.advance_word()
        self._lexer.advance()

    # --- nodes

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
            self._defs[name] = (self._defs.get(name, (node,))[0], node)
        return node

    def _def_name(self) -> str:
        """Take the name after DEF; the current token is then the node's type."""
        self._lexer.advance_word()
        # "DEF Transform {", in the tank of choreonoid.
        if self._lexer.kind is TokenKind.NAME and self._lexer.opens_node():
            message = f"no name stands between DEF and '{self._lexer.text}'"
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
        first, latest = self._defs.get(name, (None, None))
        if first is not None and latest is not None:
            text = self._source.text
            if first is latest or text[first.start : first.end] == text[latest.start : latest.end]:
                first = None
        return Use(name, latest, first, span)

    def _type(self) -> Proto:
        """Return the type that the current token names, and leave it there."""
        if self._lexer.kind is not TokenKind.NAME:
            self._unexpected("the type of a node")
        name = self._lexer.text
        known = self.protos.get(name) or self._known.get(name)
        if known is not None:
            return known
        if not self._lexer.opens_node():
            self._unexpected("a node")
        hint = did_you_mean(name, [*self.protos, *self._known])
        message = f"'{name}' is no known node; it counts as a group.{hint}"
        self._diagnostics.warn("unknown-node", message, self._lexer.span())
        return Proto(name, {})

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
                value = self._value(node.type.fields[name].type)
        except UnexpectedTokenError as error:
            self._report(str(error))
            wrong_word = lexer.kind is TokenKind.NAME and lexer.text not in node.type.fields
            wrong_value = lexer.kind in (TokenKind.NUMBER, TokenKind.STRING) or self._at("[")
            if wrong_word or wrong_value:
                self._any_value()
            return not self._at_end()
        self._store(node, name, start, value)
        return True

    def _store(self, node: Node, name: str, start: int, value: object) -> None:
        span = Span(self._source, start, start + len(name))
        if name in node.values:
            message = f"'{name}' is written twice in this {node.type_name}; the last one counts"
            self._diagnostics.warn("duplicate-field", message, span)
        if name in node.type.undeclared:
            message = f"the PROTO {node.type_name} of this file does not declare '{name}'"
            self._diagnostics.warn("undeclared-field", message, span)
        if name in node.type.fields or not node.type.fields:
            node.values[name] = value
            node.places[name] = start

    def _undeclared_value(self, node: Node, name: str, start: int) -> object:
        """Read the value of a field that the node's type has not, and warn."""
        if node.type.fields and name not in node.type.events:
            hint = did_you_mean(name, node.type.fields)
            message = f"{node.type_name} has no field '{name}'; it is not used.{hint}"
            span = Span(self._source, start, start + len(name))
            self._diagnostics.warn("unknown-field", message, span)
        if name == "children":
            return self._nodes()
        return self._any_value()

    def _is(self) -> Is:
        span = self._lexer.span()
        self._lexer.advance()
        if not self._in_body:
            self._error("stray-is", "IS has a meaning only in the body of a PROTO", span)
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
        """A list of nodes, or one without brackets; NULL in it is left out."""
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
            try:
                node = self._node()
            except UnexpectedTokenError as error:
                self._recover(str(error), start)
            else:
                if node is not None:
                    nodes.append(node)
        self._lexer.advance()
        return tuple(nodes)

    def _any_value(self) -> object:
        """Read whatever stands here: a list, a node, a string, a run of numbers, a word.

        Takes at least one token, unless a closing brace or the end is reached.
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
        """Pass over a node whose contents are not read."""
        if node.type_name == "Script":
            self._diagnostics.note("script", "a Script is not run", node.span)
        else:
            message = f"nodes stand more than {MAX_DEPTH} deep in one another"
            self._error("too-deep", message, node.span)
        self._skip_braces()
