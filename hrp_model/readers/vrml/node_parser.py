"""Parse nodes: DEF and USE, fields and their values, and recovery from errors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from ...diagnostics import Diagnostics, Source, Span, did_you_mean
from .field_types import FIELD_TYPES, FieldType, Kind
from .nodes import Is, Node, Proto, Use
from .scalars import ScalarParser, UnexpectedTokenError
from .tokens import TokenKind

# Each joint of a chain is one level. Each level takes three calls of Python's stack.
MAX_DEPTH = 200
_NODES, _TEXT, _VECTOR = (FIELD_TYPES[name] for name in ("MFNode", "SFString", "SFVec3f"))


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
