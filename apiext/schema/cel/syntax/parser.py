"""Parser: from the text of an expression to its syntax tree, with macros expanded (cel-go parser/parser.go, parser/gen/CEL.g4).

The parser accepts what cel-go's accepts, with the same places of nodes. It stops at the first syntax error.

Literals: cel-go parser/unescape.go.

Tokens: cel-go parser/gen/CEL.g4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from apiext.base.meta.limits import MAX_CEL_EXPRESSION_CODE_POINTS
from apiext.schema.cel.ast import (
    Call,
    Constant,
    Expression,
    Identifier,
    ListLiteral,
    MapEntry,
    MapLiteral,
    Select,
    StructField,
    StructLiteral,
    Uint,
    children,
)
from apiext.schema.cel.escaping import RESERVED
from apiext.schema.cel.program import deep_recursion
from apiext.schema.cel.syntax.macros import MacroError, Macros
from apiext.schema.cel.syntax.node_factory import MacroFactory, NodeFactory, TooManyNodesError
from apiext.schema.cel.syntax.source import CompileError, Issue, display_issues

ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
"""The escape sequences of strings."""
_STRING: Final = (
    rf'"""(?:[^\\]|{ESCAPE})*?"""|\'\'\'(?:[^\\]|{ESCAPE})*?\'\'\''
    rf'|"(?:[^\\"\n\r]|{ESCAPE})*+"|\'(?:[^\\\'\n\r]|{ESCAPE})*+\''
    r'|[rR](?:"""(?s:.)*?"""|\'\'\'(?s:.)*?\'\'\'|"[^"\n\r]*+"|\'[^\'\n\r]*+\')'
)
_EXPONENT: Final = r"[eE][+-]?[0-9]+"
_TOKEN: Final = re.compile(
    r"(?P<space>[\t \r\n\f]+|//[^\n]*+)"
    rf"|(?P<float>[0-9]+\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|\.[0-9]+(?:{_EXPONENT})?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    rf"|(?P<bytes>[bB](?:{_STRING}))"
    rf"|(?P<string>{_STRING})"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<escaped>`[A-Za-z0-9_./ -]+`)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)

IDENTIFIER: Final = "identifier"
END: Final = "end"
UNRECOGNIZED: Final = "unrecognized"
"""The kind of a character that begins no token."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of an expression in parallel lists, closed by one of the kind `end`.

    A kind is `identifier`, `escaped`, `int`, `uint`, `float`, `string`, `bytes`, `unrecognized`, or the text of a sign or keyword.
    """

    kinds: list[str]
    texts: list[str]
    offsets: list[int]


def tokenize(source: str) -> Tokens:
    """Split an expression. The tokens end before a character that begins none, which is the last one."""
    tokens = Tokens([], [], [])
    position = 0
    for match in _TOKEN.finditer(source):
        if match.start() != position:
            break
        position = match.end()
        kind = match.lastgroup or ""
        if kind == "space":
            continue
        text = match.group()
        if kind == "word":
            kind = text if text in {"in", "true", "false", "null"} else IDENTIFIER
        elif kind == "sign":
            kind = text
        tokens.kinds.append(kind)
        tokens.texts.append(text)
        tokens.offsets.append(match.start())
    if position != len(source):
        tokens.kinds.append(UNRECOGNIZED)
        tokens.texts.append(source[position])
        tokens.offsets.append(position)
    tokens.kinds.append(END)
    tokens.texts.append("")
    tokens.offsets.append(len(source))
    return tokens


_MAX_DEPTH: Final = 250
"""Expressions within each other."""
_MAX_LEVELS: Final = 5 * _MAX_DEPTH
"""Levels of the tree; a macro adds up to five."""
_RELATIONS: Final = {"<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in"}
_SUMS: Final = {"+": "_+_", "-": "_-_"}
_PRODUCTS: Final = {"*": "_*_", "/": "_/_", "%": "_%_"}
_UNARY: Final = {"!": "!_", "-": "-_"}
_NUMBERS: Final = frozenset({"int", "float"})
T = TypeVar("T")
_LITERALS: Final = _NUMBERS | {"uint", "string", "bytes", "true", "false", "null"}

EXPRESSION: Final = "an expression"
"""What is expected where an operand begins."""
NAME: Final = "a name"
"""What is expected after a leading dot."""
FIELD_NAME: Final = "a field name"
"""What is expected after the dot of a selection."""
_END: Final = "end of the expression"
_MAX_SHOWN: Final = 40
"""Characters of a token that are shown."""


_ESCAPED: Final = re.compile(ESCAPE)
_SIMPLE_ESCAPES: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_MAX_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)
_INT_RANGE: Final = range(-(2**63), 2**63)
_UINT_RANGE: Final = range(2**64)


class BadEscapeError(Exception):
    """An invalid escape sequence. The text is cel-go's."""


def literal_value(kind: str, text: str) -> bool | float | str | bytes | None:
    """Return the value of a token of a literal, a number with its sign.

    Raises:
        BadEscapeError: An escape sequence names no character.
        ValueError: A number is out of range.

    """
    match kind:
        case "int":
            return _bounded(text, _INT_RANGE)
        case "uint":
            return Uint(_bounded(text[:-1], _UINT_RANGE))
        case "float":
            value = float(text)
            if value in {float("inf"), float("-inf")}:
                raise ValueError
            return value
        case "string":
            return _unquote_string(text)
        case "bytes":
            return _unquote_bytes(text)
        case "true" | "false":
            return kind == "true"
        case _:
            return None


def _bounded(text: str, allowed: range) -> int:
    value = int(text, 16 if "0x" in text else 10)
    if value not in allowed:
        raise ValueError
    return value


def _unquote_string(literal: str) -> str:
    body, raw = _body(literal)
    return body if raw or "\\" not in body else _ESCAPED.sub(lambda match: _character(match.group()), body)


def _unquote_bytes(literal: str) -> bytes:
    body, raw = _body(literal[1:])
    if raw or "\\" not in body:
        return body.encode()
    value = bytearray()
    position = 0
    for match in _ESCAPED.finditer(body):
        if match.group()[1] in "uU":
            raise BadEscapeError("unable to unescape string")
        value += body[position : match.start()].encode()
        value.append(_code_point(match.group()))
        position = match.end()
    return bytes(value + body[position:].encode())


def _body(literal: str) -> tuple[str, bool]:
    literal = literal.replace("\r\n", "\n").replace("\r", "\n")
    raw = literal[0] in "rR"
    if raw:
        literal = literal[1:]
    quotes = 3 if literal[:3] in {'"""', "'''"} and len(literal) >= 6 else 1
    return literal[quotes:-quotes], raw


def _code_point(escape: str) -> int:
    letter = escape[1]
    if letter in "xXuU" or letter in "0123":
        return int(escape.lstrip("\\xXuU"), 8 if letter in "0123" else 16)
    return _SIMPLE_ESCAPES.get(letter, ord(letter))


def _character(escape: str) -> str:
    value = _code_point(escape)
    if value > _MAX_CODE_POINT or value in _SURROGATES:
        raise BadEscapeError("invalid unicode code point")
    return chr(value)


class SyntaxFaultError(Exception):
    """The text is not an expression."""

    def __init__(self, tokens: Tokens, at: int, expected: str) -> None:
        """Blame a token. `expected` describes what may follow instead: words of this module, or the text of a sign."""
        super().__init__(_message(tokens.kinds[at], tokens.texts[at], expected))
        self.issue = Issue(tokens.offsets[at], str(self))


def _message(kind: str, text: str, expected: str) -> str:
    if kind == UNRECOGNIZED:
        if text in "\"'":
            return "Syntax error: string literal is not closed or has an invalid escape sequence"
        if text == "`":
            return "Syntax error: escaped field name is not closed or has an invalid character"
        return f"Syntax error: unexpected character {_shown(text)}"
    found = _END if kind == END else _shown(text)
    return f"Syntax error: unexpected {found}, expected {f'the {_END}' if expected == END else expected}"


def _shown(text: str) -> str:
    """Return a text in quotes, its beginning if it is long; a string literal has quotes already."""
    if len(text) > _MAX_SHOWN:
        text = f"{text[:_MAX_SHOWN]}..."
    return text if text[-1] in "\"'" else f"'{text}'"


class _TooDeepError(Exception):
    """An expression is nested too deeply; the text is cel-go's."""


def parse(source: str, macros: Macros, *, optional_syntax: bool) -> tuple[Expression, dict[int, int]]:
    """Return the syntax tree of an expression, and the offsets of its nodes by their identifiers.

    Raises:
        CompileError: The text is no expression, or is nested too deeply.

    """
    if len(source) > MAX_CEL_EXPRESSION_CODE_POINTS:
        fault = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CEL_EXPRESSION_CODE_POINTS}"
        raise CompileError(display_issues(source, [Issue(None, fault)]))
    nodes = NodeFactory()
    try:
        with deep_recursion():
            expression = _Parser(source, nodes, macros, optional_syntax=optional_syntax).parse()
    except SyntaxFaultError as error:
        raise CompileError(display_issues(source, [*nodes.issues, error.issue])) from None
    except (_TooDeepError, TooManyNodesError) as error:
        raise CompileError(display_issues(source, [*nodes.issues, Issue(None, str(error))])) from None
    if nodes.issues:
        raise CompileError(display_issues(source, nodes.issues))
    return expression, nodes.positions


class _Parser:
    """A recursive-descent parser with one method for each rule of the grammar."""

    def __init__(self, source: str, nodes: NodeFactory, macros: Macros, *, optional_syntax: bool) -> None:
        tokens = self.tokens = tokenize(source)
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.offsets = tokens.offsets
        self.at = 0
        self.nodes = nodes
        self.macros = macros
        self.optional_syntax = optional_syntax
        self.depth = 0
        """Expressions around the parsed one: in parentheses, lists, maps and arguments."""

    def parse(self) -> Expression:
        expression = self._expr()
        self._expect(END)
        if _is_deep(expression):
            raise _TooDeepError("max recursion depth exceeded")
        return expression

    def _accept(self, kind: str) -> bool:
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def _expect(self, kind: str, described: str = "") -> int:
        """Return the index of the token."""
        if self.kinds[self.at] != kind:
            raise self._fault(described or (kind if kind == END else f"'{kind}'"))
        self.at += 1
        return self.at - 1

    def _fault(self, expected: str) -> SyntaxFaultError:
        return SyntaxFaultError(self.tokens, self.at, expected)

    def _expr(self) -> Expression:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _TooDeepError(f"expression recursion limit exceeded: {_MAX_DEPTH}")
        expression = self._or()
        if self.kinds[self.at] == "?":
            call = self.nodes.identify(self.offsets[self._expect("?")])
            if_true = self._or()
            self._expect(":")
            expression = Call(call, "_?_:_", (expression, if_true, self._expr()))
        self.depth -= 1
        return expression

    def _or(self) -> Expression:
        expression = self._and()
        if self.kinds[self.at] != "||":
            return expression
        return self._logic(expression, "||", "_||_")

    def _and(self) -> Expression:
        expression = self._relation()
        if self.kinds[self.at] != "&&":
            return expression
        return self._logic(expression, "&&", "_&&_")

    def _logic(self, first: Expression, sign: str, function: str) -> Expression:
        terms, calls = [first], []
        while self.kinds[self.at] == sign:
            offset = self.offsets[self.at]
            self.at += 1
            terms.append(self._and() if sign == "||" else self._relation())
            calls.append(self.nodes.identify(offset))
        return _balance(function, terms, calls, 0, len(calls) - 1)

    def _relation(self, *, chained: bool = True) -> Expression:
        """Parse comparisons, which are left-associative; the right operand of one is a sum."""
        expression = self._sum()
        while chained and self.kinds[self.at] in _RELATIONS:
            operator = self.at
            self.at += 1
            call = self.nodes.identify(self.offsets[operator])
            expression = Call(call, _RELATIONS[self.kinds[operator]], (expression, self._relation(chained=False)))
        return expression

    def _sum(self, *, sums: bool = True, products: bool = True) -> Expression:
        expression = self._unary()
        while True:
            kind = self.kinds[self.at]
            if products and kind in _PRODUCTS:
                function, sums_right, products_right = _PRODUCTS[kind], False, False
            elif sums and kind in _SUMS:
                function, sums_right, products_right = _SUMS[kind], False, True
            else:
                break
            call = self.nodes.identify(self.offsets[self.at])
            self.at += 1
            expression = Call(call, function, (expression, self._sum(sums=sums_right, products=products_right)))
        return expression

    def _unary(self) -> Expression:
        first = self.at
        sign = self.kinds[first]
        if sign not in _UNARY or (sign == "-" and self.kinds[first + 1] in _NUMBERS):
            return self._member()
        while self._accept(sign):
            pass
        if (self.at - first) % 2 == 0:
            return self._member()
        call = self.nodes.identify(self.offsets[first])
        return Call(call, _UNARY[sign], (self._member(),))

    def _member(self) -> Expression:
        expression = self._primary()
        while self.kinds[self.at] in {".", "["}:
            expression = self._selection(expression) if self.kinds[self.at] == "." else self._index(expression)
        return expression

    def _selection(self, operand: Expression) -> Expression:
        dot = self._expect(".")
        optional = self._accept("?")
        token = self.at
        name = self._field_name()
        if self.texts[token][0] != "`" and not optional and self.kinds[self.at] == "(":
            return self._method(operand, name)
        if not optional:
            return Select(self.nodes.identify(self.offsets[dot]), operand, name)
        if not self.optional_syntax:
            return self.nodes.report(self.offsets[dot], "unsupported syntax '.?'")
        field = Constant(self.nodes.identify(self.offsets[token]), name)
        return Call(self.nodes.identify(self.offsets[dot]), "_?._", (operand, field))

    def _field_name(self) -> str:
        if self.kinds[self.at] == "escaped":
            self.at += 1
            return self.texts[self.at - 1][1:-1]
        return self.texts[self._expect(IDENTIFIER, FIELD_NAME)]

    def _method(self, target: Expression, name: str) -> Expression:
        offset = self.offsets[self._expect("(")]
        arguments = self._arguments()
        return self._call(offset, name, arguments, target)

    def _index(self, operand: Expression) -> Expression:
        offset = self.offsets[self._expect("[")]
        optional = self._accept("?")
        call = self.nodes.identify(offset)
        index = self._expr()
        self._expect("]")
        if optional and not self.optional_syntax:
            return self.nodes.report(offset, "unsupported syntax '[?'")
        return Call(call, "_[?_]" if optional else "_[_]", (operand, index))

    def _arguments(self) -> tuple[Expression, ...]:
        """Parse the arguments of a call and its closing parenthesis."""
        arguments: list[Expression] = []
        if not self._accept(")"):
            arguments.append(self._expr())
            while self._accept(","):
                arguments.append(self._expr())
            self._expect(")", "',' or ')'")
        return tuple(arguments)

    def _call(self, offset: int, name: str, arguments: tuple[Expression, ...], target: Expression | None) -> Expression:
        expand = self.macros.get((name, len(arguments), target is not None))
        if expand is None:
            return Call(self.nodes.identify(offset), name, arguments, target)
        try:
            return expand(MacroFactory(self.nodes, offset), arguments[0] if target is None else target, arguments)
        except MacroError as error:
            return self.nodes.report(self.nodes.positions[error.node.id], str(error))

    def _primary(self) -> Expression:
        kind = self.kinds[self.at]
        if kind in {IDENTIFIER, "."}:
            return self._struct() if self._is_struct() else self._name()
        if kind == "(":
            self.at += 1
            expression = self._expr()
            self._expect(")")
            return expression
        if kind == "[":
            return self._list()
        if kind == "{":
            return self._map()
        return self._literal()

    def _name(self) -> Expression:
        first = self.at
        dot = "." if self._accept(".") else ""
        token = self._expect(IDENTIFIER, NAME)
        name = self.texts[token]
        if name in RESERVED:
            known = len(self.nodes.issues)
            if self._accept("("):
                self._arguments()
                del self.nodes.issues[known:]
            return self.nodes.report(self.offsets[first], f"reserved identifier: {name}")
        if self.kinds[self.at] == "(":
            self.at += 1
            return self._call(self.offsets[token + 1], dot + name, self._arguments(), None)
        return Identifier(self.nodes.identify(self.offsets[token]), dot + name)

    def _list(self) -> ListLiteral:
        node = self.nodes.identify(self.offsets[self._expect("[")])
        elements: list[Expression] = []
        optional: list[int] = []
        while self.kinds[self.at] not in {"]", ","}:
            if self._optional_mark():
                optional.append(len(elements))
            elements.append(self._expr())
            if self.kinds[self.at] != "," or self.kinds[self.at + 1] == "]":
                break
            self.at += 1
            if self.kinds[self.at] == ",":
                raise self._fault(EXPRESSION)
        self._expect("]", "']'" if self._accept(",") else "',' or ']'")
        return ListLiteral(node, tuple(elements), tuple(optional))

    def _optional_mark(self) -> bool:
        offset = self.offsets[self.at]
        optional = self._accept("?")
        if optional and not self.optional_syntax:
            self.nodes.report(offset, "unsupported syntax '?'")
        return optional

    def _map(self) -> MapLiteral:
        node = self.nodes.identify(self.offsets[self._expect("{")])
        return MapLiteral(node, self._members(self._map_entry))

    def _map_entry(self) -> MapEntry:
        optional = self._optional_mark()
        key = self._expr()
        entry = self.nodes.identify(self.offsets[self._expect(":")])
        return MapEntry(entry, key, self._expr(), optional)

    def _is_struct(self) -> bool:
        """Return whether a name with dots is followed by the fields of a struct."""
        at = self.at + (self.kinds[self.at] == ".")
        while self.kinds[at] == IDENTIFIER and self.kinds[at + 1] == ".":
            at += 2
        return self.kinds[at] == IDENTIFIER and self.kinds[at + 1] == "{"

    def _struct(self) -> StructLiteral:
        first = self.at
        while self.kinds[self.at] != "{":
            self.at += 1
        name = "".join(self.texts[first : self.at])
        node = self.nodes.identify(self.offsets[self._expect("{")])
        return StructLiteral(node, name, self._members(self._struct_field))

    def _struct_field(self) -> StructField:
        optional = self._optional_mark()
        name = self._field_name()
        field = self.nodes.identify(self.offsets[self._expect(":")])
        return StructField(field, name, self._expr(), optional)

    def _members(self, parse_member: Callable[[], T]) -> tuple[T, ...]:
        """Parse the members of a map or struct, separated by commas, and the closing brace."""
        members = []
        while self.kinds[self.at] not in {"}", ","}:
            members.append(parse_member())
            if self.kinds[self.at] != "," or self.kinds[self.at + 1] == "}":
                break
            self.at += 1
            if self.kinds[self.at] == ",":
                raise self._fault(EXPRESSION)
        self._expect("}", "'}'" if self._accept(",") else "',' or '}'")
        return tuple(members)

    def _literal(self) -> Expression:
        first = self.at
        offset = self.offsets[first]
        sign = "-" if self._accept("-") else ""
        kind, text = self.kinds[self.at], self.texts[self.at]
        if kind not in (_NUMBERS if sign else _LITERALS):
            raise self._fault("a number" if sign else EXPRESSION)
        self.at += 1
        try:
            value = literal_value(kind, sign + text)
        except BadEscapeError as error:
            return self.nodes.report(offset, str(error))
        except ValueError:
            return self.nodes.report(offset, f"invalid {'double' if kind == 'float' else kind} literal")
        return Constant(self.nodes.identify(offset), value)


def _is_deep(expression: Expression) -> bool:
    """Return whether a tree has more than _MAX_LEVELS levels of nodes below its root."""
    level = [expression]
    for _ in range(_MAX_LEVELS + 1):
        level = [child for node in level for child in children(node)]
        if not level:
            return False
    return True


def _balance(function: str, terms: list[Expression], calls: list[int], low: int, high: int) -> Call:
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else _balance(function, terms, calls, low, middle - 1)
    right = terms[middle + 1] if middle == high else _balance(function, terms, calls, middle + 1, high)
    return Call(calls[middle], function, (left, right))
