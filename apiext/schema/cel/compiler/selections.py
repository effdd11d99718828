"""Variables, fields, keys and indices (cel-go interpreter/attributes.go).

cel-go reads a chain such as `a.b[0].c` as one attribute with qualifiers: the attribute costs 1, and each qualifier 1.
"""

from __future__ import annotations

from ast import literal_eval
from typing import Any, Final

from apiext.schema.cel.ast import Call, Expression, Identifier, Select
from apiext.schema.cel.compiler.code_value import CodeValue
from apiext.schema.cel.compiler.compiler import Compiler
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError, no_such_attribute, no_such_key
from apiext.schema.cel.standard.operators import index, qualify
from apiext.schema.cel.types import BOOL, DYN, INT, STRING, CelType, optional_of
from apiext.schema.cel.values.json_conversion import Shape
from apiext.schema.cel.values.run_time_values import OPTIONAL_NONE, OptionalValue

QUALIFIERS: Final = frozenset({"_[_]", "_[?_]", "_?._"})
CONDITIONAL: Final = "_?_:_"


def is_attribute(compiler: Compiler, node: Expression) -> bool:
    """Return whether cel-go evaluates a node as an attribute."""
    if node.id in compiler.folded:
        return False
    return isinstance(node, Identifier | Select) or (
        isinstance(node, Call) and (node.function in QUALIFIERS or node.function == CONDITIONAL)
    )


def base_cost(compiler: Compiler, node: Expression) -> int:
    """Return the cost that a node has only where it is not part of another attribute, as its key or as a branch of its condition.

    It is 1 for a chain, but a chain that begins with a condition costs nothing, nor does has().
    """
    if not is_attribute(compiler, node) or (isinstance(node, Select) and node.test_only):
        return 0
    while is_attribute(compiler, node):
        if isinstance(node, Call):
            if node.function == CONDITIONAL:
                return 0
            node = node.arguments[0]
        elif isinstance(node, Select):
            node = node.operand
        else:
            break
    return 1


def compile_identifier(compiler: Compiler, node: Identifier) -> CodeValue:
    """Compile the name of a variable. A leading dot means that of the environment, whatever a loop calls its own."""
    compiler.writer.charge(1)
    full_name = compiler.checked.names.get(node.id, node.name)
    name = full_name.removeprefix(".")
    operand = compiler.variable(name, outermost=full_name.startswith("."))
    if operand is None:
        compiler.writer.line(f"raise {compiler.bind(no_such_attribute)}({name!r})")
        return CodeValue("None", DYN, may_fail=True)
    if operand.shape is None or not operand.shape.strict or operand.shape.optional:
        return operand
    return read(compiler, compiler.assign(operand.code, operand.type, may_fail=False).code, operand.shape)


def compile_select(compiler: Compiler, node: Select) -> CodeValue:
    """Compile `operand.field` and `has(operand.field)`."""
    operand = _base(compiler, node.operand)
    if node.test_only:
        return _presence(compiler, operand, node.field)
    shape = operand.shape
    if shape is not None and not shape.optional:
        if shape.is_object and (found := shape.field(node.field)) is not None:
            compiler.writer.charge(1)
            return _field(compiler, operand, node.field, *found)
        if shape.is_map and shape.element is not None:
            compiler.writer.charge(1)
            return _member(compiler, operand, repr(node.field), shape.element)
    return _dynamic(compiler, operand, CodeValue(repr(node.field), STRING), compiler.type_of(node), through=False)


def compile_index(compiler: Compiler, node: Call) -> CodeValue:
    """Compile `a[b]`, `a[?b]` and `a.?b`."""
    container = _base(compiler, node.arguments[0])
    key_node = node.arguments[1]
    with compiler.chain(0):
        key = compiler.atom(compiler.converted(compiler.visit(key_node)))
    through = node.function != "_[_]"
    shape = container.shape
    compiler.writer.charge(-base_cost(compiler, key_node))
    is_map = shape is not None and not shape.optional and shape.is_map and key.type == STRING
    if through or container.type.name == "optional_type" or (container.is_dyn and not is_map):
        return _dynamic(compiler, container, key, compiler.type_of(node), through=through)
    compiler.writer.charge(1)
    if is_map and shape is not None and shape.element is not None:
        return _member(compiler, container, key.code, shape.element)
    if shape is not None and shape.type == "array" and shape.element is not None and key.type == INT:
        return _element(compiler, container, key, shape.element)
    if container.type.name == "list" and key.type == INT:
        return _element(compiler, container, key, None, container.type.parameters[0] if container.type.parameters else DYN)
    return compiler.assign(f"{compiler.bind(index)}({compiler.value(container)}, {key.code})", DYN, may_fail=True)


def _base(compiler: Compiler, node: Expression) -> CodeValue:
    """Compile what qualifiers are applied to; what is no attribute becomes one."""
    attribute = is_attribute(compiler, node)
    with compiler.chain(compiler.qualifiers + 1 if attribute else 0):
        operand = compiler.atom(compiler.visit(node))
    if not attribute:
        compiler.writer.charge(1)
    return operand


def _field(compiler: Compiler, operand: CodeValue, identifier: str, name: str, shape: Shape) -> CodeValue:
    """Read a field of an object. A field that is null is absent."""
    result, writer = compiler.name("t"), compiler.writer
    error = f"raise {compiler.bind(no_such_key)}({identifier!r}) from None"
    with writer.block("try:"):
        writer.line(f"{result} = {operand.code}[{name!r}]")
    if shape.nullable or shape.strict:
        with writer.block("except (KeyError, TypeError):"):
            writer.line(f"{result} = None")
        with writer.block(f"if {result} is None:"):
            _forget(compiler)
            writer.line(error)
    else:
        with writer.block("except (KeyError, TypeError):"):
            _forget(compiler)
            writer.line(error)
    return read(compiler, result, shape, nullable=False)


def _member(compiler: Compiler, operand: CodeValue, key: str, shape: Shape) -> CodeValue:
    """Read an entry of a map."""
    result, writer = compiler.name("t"), compiler.writer
    with writer.block("try:"):
        writer.line(f"{result} = {operand.code}[{key}]")
    with writer.block("except (KeyError, TypeError):"):
        _forget(compiler)
        writer.line(f"raise {compiler.bind(no_such_key)}({key}) from None")
    return read(compiler, result, shape)


def _element(compiler: Compiler, operand: CodeValue, key: CodeValue, shape: Shape | None, kind: CelType = DYN) -> CodeValue:
    """Read an element of a list."""
    result, writer = compiler.name("t"), compiler.writer
    with writer.block(f"if not 0 <= {key.code} < len({operand.code}):"):
        _forget(compiler)
        writer.line(f"raise {compiler.bind(_out_of_bounds)}({key.code})")
    writer.line(f"{result} = {operand.code}[{key.code}]")
    return CodeValue(result, kind, may_fail=True) if shape is None else read(compiler, result, shape)


def _forget(compiler: Compiler) -> None:
    """Take back the costs of the qualifiers that follow an absent member."""
    if compiler.qualifiers:
        compiler.writer.charge_result(f"-{compiler.qualifiers}")


def _out_of_bounds(place: int) -> CelError:
    return CelError(f"index out of bounds: {place}")


def read(compiler: Compiler, code: str, shape: Shape, *, nullable: bool = True) -> CodeValue:
    """Return JSON from a place in a schema as an operand; scalars are converted at once."""
    kind = DYN if shape.nullable and nullable else type_of_shape(shape)
    if shape.is_container or shape.optional:
        if shape.strict and not shape.optional:
            compiler.writer.line(f"{compiler.bind(shape.require_type)}({code})")
        return CodeValue(code, kind, shape, may_fail=True)
    if shape.type == "number" and not shape.strict:
        compiler.writer.line(f"{code} = {_double(code, shape)}")
    elif shape.strict or shape.scalar is not None or not (shape.type or shape.is_int_or_string):
        compiler.writer.line(f"{code} = {compiler.bind(shape.convert)}({code}, memo)")
    return CodeValue(code, kind, may_fail=True)


def _double(code: str, shape: Shape) -> str:
    return f"float({code}) if {code} is not None else None" if shape.nullable else f"float({code})"


_TYPES: Final = {"integer": INT, "boolean": BOOL, "number": CelType("double"), "object": CelType("map"), "array": CelType("list")}
_FORMATS: Final = {
    "duration": CelType("google.protobuf.Duration"),
    "date": CelType("google.protobuf.Timestamp"),
    "date-time": CelType("google.protobuf.Timestamp"),
    "byte": CelType("bytes"),
}


def type_of_shape(shape: Shape) -> CelType:
    """Return the type of the values of a place in a schema."""
    if shape.optional:
        return optional_of(DYN)
    if shape.type == "string":
        return _FORMATS.get(shape.schema.raw.get("format") or "", STRING)
    return _TYPES.get(shape.type, DYN)


def _presence(compiler: Compiler, operand: CodeValue, identifier: str) -> CodeValue:
    """Compile has(): the attribute has no cost, the field 1."""
    shape = operand.shape
    found = None if shape is None or shape.optional else shape.field(identifier) if shape.is_object else None
    if found is not None or (shape is not None and shape.is_map):
        name = identifier if found is None else found[0]
        member_shape = shape and shape.element if found is None else found[1]
        if member_shape is not None and member_shape.strict:
            code = f"{compiler.bind(member_shape.is_present)}({operand.code}, {name!r}, memo)"
            return compiler.assign(code, BOOL, may_fail=True)
        code = f"{name!r} in {operand.code}"
        if found is not None and found[1].nullable:
            code += f" and {operand.code}[{name!r}] is not None"
        if shape is not None and shape.nullable:
            code = f"{operand.code} is not None and {code}"
        return CodeValue(f"({code})", BOOL, may_fail=operand.may_fail)
    key = CodeValue(repr(identifier), STRING)
    member = _member_of(compiler, shape, operand.code, key) if shape is not None and shape.optional else None
    if member is not None:
        code = f"{member[0]}.present"
    else:
        value = compiler.value(operand)
        code = f"{identifier!r} in {value} if type({value}) is dict else {compiler.bind(_is_present)}({value}, {identifier!r})"
    result = compiler.assign(code, BOOL, may_fail=True)
    if operand.type.name == "optional_type" or operand.is_dyn:
        compiler.writer.charge(-1)
        compiler.writer.charge_result(f"{compiler.bind(_present_cost)}({operand.code})")
    return result


def _is_present(container: object, key: str) -> bool:
    """Evaluate has() for a value of unknown type. Raises CelError."""
    return bool(qualify(container, key, through=True).present)


def _present_cost(container: object) -> int:
    return int(getattr(container, "present", True))


def _dynamic(compiler: Compiler, container: CodeValue, key: CodeValue, kind: CelType, *, through: bool) -> CodeValue:
    """Read a member of a value of unknown type, or of an optional one. An absent optional member costs nothing."""
    compiler.writer.charge(1)
    optional = through or container.type.name == "optional_type"
    if optional and (found := _member_of(compiler, container.shape, container.code, key)) is not None:
        code, shape = found
        result = CodeValue(compiler.name("t"), kind, shape.made_optional(), may_fail=True)
        compiler.writer.line(f"{result.code} = {code}")
        if shape.strict and key.type == STRING:
            with compiler.writer.block(f"if {result.code}.present:"):
                compiler.writer.line(f"{compiler.bind(shape.require_type)}({result.code}.value)")
    elif not optional and not container.is_dyn:
        return compiler.assign(f"{compiler.bind(index)}({compiler.value(container)}, {key.code})", kind, may_fail=True)
    else:
        if not optional and container.shape is not None and container.shape.type == "object" and key.type != STRING:
            with compiler.writer.block(f"if not isinstance({key.code}, str):"):
                compiler.writer.line(f"raise {compiler.bind(CelError)}({NO_SUCH_OVERLOAD!r})")
        operand = compiler.value(container)
        code = f"{compiler.bind(qualify)}({operand}, {key.code}, through={through})"
        if not optional and key.type == STRING:
            return _dynamic_field(compiler, operand, key, code, kind)
        result = compiler.assign(code, kind, may_fail=True)
    if optional or container.is_dyn:
        compiler.writer.charge_result(f"{compiler.bind(_present_cost)}({result.code}) - 1")
    return result


def _dynamic_field(compiler: Compiler, operand: str, key: CodeValue, code: str, kind: CelType) -> CodeValue:
    """Read a member of a value of unknown type by a text: at once from a plain map, else by the code."""
    writer, result = compiler.writer, CodeValue(compiler.name("t"), kind, may_fail=True)
    with writer.block(f"if type({operand}) is dict and {key.code} in {operand}:"):
        writer.line(f"{result.code} = {operand}[{key.code}]")
    with writer.block("else:"):
        writer.line(f"{result.code} = {code}")
        writer.charge_result(f"{compiler.bind(_present_cost)}({result.code}) - 1")
    return result


def _member_of(compiler: Compiler, shape: Shape | None, container: str, key: CodeValue) -> tuple[str, Shape] | None:
    """Return the code that reads an optional member which the schema describes, and the member's shape."""
    inner = None if shape is None else shape.inner
    if inner is None or (inner.is_object and not key.code.startswith(("'", '"'))):
        return None
    if inner.is_object:
        found = inner.field(literal_eval(key.code))
        return None if found is None else (f"{compiler.bind(_optional_field)}({container}, {found[0]!r})", found[1])
    if inner.element is None or key.type != (STRING if inner.is_map else INT):
        return None
    return f"{compiler.bind(_optional_element)}({container}, {key.code})", inner.element


def _optional_field(container: Any, name: str) -> OptionalValue:
    """Return an optional field of JSON; a field that is null is absent."""
    if isinstance(container, OptionalValue):
        container = container.value
    member = container.get(name) if isinstance(container, dict) else None
    return OPTIONAL_NONE if member is None else OptionalValue(member)


def _optional_element(container: Any, key: Any) -> OptionalValue:
    """Return an optional element or entry of JSON."""
    if isinstance(container, OptionalValue):
        container = container.value
    if isinstance(container, list):
        return OptionalValue(container[key]) if 0 <= key < len(container) else OPTIONAL_NONE
    return OptionalValue(container[key]) if isinstance(container, dict) and key in container else OPTIONAL_NONE
