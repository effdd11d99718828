"""Calls of functions and operators.

Operands: cel-go interpreter, evalBinary and evalVarArgs.

Costs: cel-go interpreter/runtimecost.go, costCall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from apiext.schema.cel.ast import Call, Comprehension, Expression, children
from apiext.schema.cel.compiler.code_value import PRIMITIVES, CodeValue
from apiext.schema.cel.compiler.compiler import Compiler
from apiext.schema.cel.compiler.folding import is_set_literal
from apiext.schema.cel.compiler.logic import compile_conditional, compile_logic
from apiext.schema.cel.compiler.selections import read
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.libraries.costs import actual_size, pattern_cost, string_cost
from apiext.schema.cel.libraries.library import Cost, Overload
from apiext.schema.cel.standard.functions import CHECKED_TEMPLATES, DYNAMIC, OVERLOADS, TEMPLATES, ConstantPattern
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.types import BOOL, BYTES, INT, STRING, CelType
from apiext.schema.cel.values.equality import equal, unequal
from apiext.schema.cel.values.run_time_values import INT_MAX, INT_MIN, OPTIONAL_NONE, OpaqueValue, OptionalValue, checked_int

_SMALL: Final = f"{INT_MIN} <= {{0}} <= {INT_MAX}"


_Compile = Callable[[Expression], CodeValue]


def _size(value: object) -> int:
    return actual_size(value.value if isinstance(value, OptionalValue) and value.present else value)


def _equality_cost(left: object, right: object) -> int:
    """Return the cost of `==`. That of `!=` depends on the sizes of opaque values too."""
    return 1 if isinstance(left, OpaqueValue) else _order_cost(left, right)


def _order_cost(left: object, right: object) -> int:
    return string_cost(min(_size(left), _size(right)))


def _first_cost(text: object, *_: object) -> int:
    return string_cost(_size(text))


def _second_cost(_: object, text: object) -> int:
    return string_cost(_size(text))


def _sum_cost(left: object, right: object) -> int:
    return string_cost(_size(left) + _size(right))


def _contains_cost(text: object, part: object) -> int:
    return _first_cost(text) * _first_cost(part)


def _matches_cost(text: object, pattern: object) -> int:
    return pattern_cost(_size(text), _size(pattern))


def _members_cost(_: object, members: object) -> int:
    return _size(members)


class _Traversals(dict[int, int]):
    """The costs of visiting characters, by their number."""

    def __missing__(self, length: int) -> int:
        return string_cost(length)


_TRAVERSALS: Final = _Traversals({length: string_cost(length) for length in range(256)})
"""A dict, since the generated code computes this cost most often."""

_COSTS: Final = {
    "starts_with_string": _second_cost,
    "ends_with_string": _second_cost,
    "string_to_bytes": _first_cost,
    "bytes_to_string": _first_cost,
    "in_list": _members_cost,
    **{f"{name}_{kind}": _order_cost for name in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")},
    "add_string": _sum_cost,
    "add_bytes": _sum_cost,
    "contains_string": _contains_cost,
    "matches": _matches_cost,
    "matches_string": _matches_cost,
}
"""Costs of standard overloads; others cost 1."""


def charge_equality(compiler: Compiler, left: CodeValue, right: CodeValue, *, negated: bool) -> None:
    """Charge `==` or `!=`. The size of a scalar is 1; only an empty text or container is smaller, and costs nothing."""
    scalar = PRIMITIVES - {STRING, BYTES}
    if (left.type in scalar or right.type in scalar) and not (left.is_dyn or right.is_dyn):
        compiler.writer.charge(1)
    elif "''" in {left.code, right.code}:
        return
    elif left.type == right.type == STRING:
        _charge_result(compiler, f"{compiler.bind(_TRAVERSALS)}[min(len({left.code}), len({right.code}))]")
    else:
        _charge_result(compiler, f"{compiler.bind(_order_cost if negated else _equality_cost)}({left.code}, {right.code})")


def _charge_result(compiler: Compiler, code: str) -> None:
    """Charge what the evaluation computes; if it fails before, the call has cost 1."""
    compiler.writer.charge(1)
    compiler.writer.charge_result(f"{code} - 1")


def charge_call(compiler: Compiler, overload: str, arguments: list[CodeValue]) -> None:
    """Charge a call of a standard function; `overload` is empty if the checker left the choice to the evaluation."""
    if overload in _COSTS:
        _charge_result(compiler, f"{compiler.bind(_COSTS[overload])}({', '.join(argument.code for argument in arguments)})")
    else:
        compiler.writer.charge(1)


def library_cost(library: Overload | None, *, determined: bool) -> Cost | None:
    """Return the cost of a call of a library's function, None for 1."""
    if library is None:
        return None
    return library.cost if determined else library.undetermined_cost


def compile_operands(compiler: Compiler, nodes: Sequence[Expression], compile_one: _Compile) -> list[CodeValue]:
    """Compile the operands of a call, each by `compile_one`.

    As in the reference, the first failure ends a call of three or more operands, but of two both are evaluated, and the first failure
    counts. Only the costs of a loop make a difference.
    """
    if len(nodes) != 2 or not compiler.counting or not _has_loop(compiler, nodes[1]):
        return [compile_one(node) for node in nodes]
    writer, error = compiler.writer, compiler.name("e")
    writer.line(f"{error} = None")
    first = _absorbing(compiler, nodes[0], compile_one, f"{error} = x")
    second = _absorbing(compiler, nodes[1], compile_one, f"raise ({error} or x) from None")
    with writer.block(f"if {error} is not None:"):
        writer.line(f"raise {error}")
    return [first, second]


def _absorbing(compiler: Compiler, node: Expression, compile_one: _Compile, statement: str) -> CodeValue:
    """Compile an operand, and a statement for its failure `x`."""
    writer = compiler.writer
    depth, header = writer.depth, writer.placeholder()
    writer.depth += 1
    writer.line("pass")
    operand = compile_one(node)
    writer.depth -= 1
    writer.fill(header, "try:" if operand.may_fail else "if True:", depth)
    if operand.may_fail:
        with writer.block(f"except {compiler.bind(CelError)} as x:"):
            writer.line(statement)
    return operand


def _has_loop(compiler: Compiler, node: Expression) -> bool:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Comprehension):
            return True
        if part.id not in compiler.folded:
            pending.extend(children(part))
    return False


def compile_call(compiler: Compiler, node: Call) -> CodeValue:
    """Compile a call."""
    match node.function:
        case "_&&_" | "_||_":
            return compile_logic(compiler, node)
        case "_?_:_":
            return compile_conditional(compiler, node)
        case "_==_" | "_!=_":
            return _compile_equality(compiler, node)
        case "or" | "orValue" if node.target is not None and len(node.arguments) == 1:
            return _compile_alternative(compiler, node)
        case "value" | "hasValue" if node.target is not None and not node.arguments:
            return _compile_unwrapping(compiler, node)
        case "dyn":
            operand = compiler.visit(node.arguments[0])
            compiler.writer.charge(1)
            return CodeValue(operand.code, CelType("dyn"), operand.shape, operand.may_fail)
        case "@in":
            return _compile_membership(compiler, node)
        case "optional.ofNonZeroValue":
            return _compile_non_zero(compiler, node)
        case "@not_strictly_false":
            return _compile_lenience(compiler, node)
    return _compile_function(compiler, node)


def _arguments(compiler: Compiler, node: Call) -> list[CodeValue]:
    nodes = node.arguments if node.target is None else (node.target, *node.arguments)
    return compile_operands(compiler, nodes, lambda each: compiler.atom(compiler.converted(compiler.visit(each))))


def _compile_equality(compiler: Compiler, node: Call) -> CodeValue:
    left, right = compile_operands(compiler, node.arguments, compiler.visit)
    writer = compiler.writer
    negated = node.function == "_!=_"
    same_type = (left.type == right.type and not left.is_dyn) or _is_same_shape(left, right)
    if left.is_plain and right.is_plain and same_type:
        left, right = compiler.atom(left), compiler.atom(right)
        charge_equality(compiler, left, right, negated=negated)
        return CodeValue(f"({left.code} {'!=' if negated else '=='} {right.code})", BOOL, may_fail=left.may_fail or right.may_fail)
    container = left.shape is not None and left.shape.is_container and right.type.name not in {"list", "map"} and right.shape is None
    left, right = (compiler.atom(compiler.converted(each)) for each in (left, right))
    charge_equality(compiler, left, right, negated=negated)
    may_fail = left.may_fail or right.may_fail or not left.is_primitive
    if container and not negated:
        with writer.block(f"if not isinstance({right.code}, (list, dict, type(None))):"):
            writer.line(f"raise {compiler.bind(CelError)}({NO_SUCH_OVERLOAD!r})")
    return compiler.assign(f"{compiler.bind(unequal if negated else equal)}({left.code}, {right.code})", BOOL, may_fail=may_fail)


def _is_same_shape(left: CodeValue, right: CodeValue) -> bool:
    return left.shape is not None and right.shape is not None and left.shape.schema is right.shape.schema


def _compile_lenience(compiler: Compiler, node: Call) -> CodeValue:
    """Compile the condition of a loop that is true unless its argument is false; the loops that the macros make do without it."""
    operand = compiler.visit(node.arguments[0])
    compiler.writer.charge(1)
    return CodeValue(f"({compiler.atom(operand).code} is not False)", BOOL, may_fail=operand.may_fail)


def _compile_alternative(compiler: Compiler, node: Call) -> CodeValue:
    """Compile `a.or(b)` and `a.orValue(b)`, which evaluate b only if a has no value."""
    if node.target is None:
        raise CelError(NO_SUCH_OVERLOAD)
    optional = compiler.atom(compiler.visit(node.target))
    writer, result = compiler.writer, compiler.name("t")
    if optional.type.name != "optional_type":
        with writer.block(f"if not isinstance({optional.code}, {compiler.bind(OptionalValue)}):"):
            writer.line(f"raise {compiler.bind(CelError)}({NO_SUCH_OVERLOAD!r})")
    with writer.block(f"if {optional.code}.present:"):
        kept = CodeValue(compiler.value(optional), optional.type)
        writer.line(f"{result} = {kept.code}{'' if node.function == 'or' else '.value'}")
    with writer.block("else:"), writer.region():
        other = compiler.converted(compiler.visit(node.arguments[0]))
        writer.line(f"{result} = {other.code}")
    return CodeValue(result, _known(compiler.type_of(node), optional, other), may_fail=True)


def _known(declared: CelType, optional: CodeValue, other: CodeValue) -> CelType:
    """Return the type of an optional's value or another one; null may be a value of a nullable place."""
    nullable = optional.shape is not None and optional.shape.nullable
    return CelType("dyn") if nullable or other.is_dyn else declared


def _compile_unwrapping(compiler: Compiler, node: Call) -> CodeValue:
    """Compile `value` and `hasValue` of an optional value."""
    if node.target is None:
        raise CelError(NO_SUCH_OVERLOAD)
    optional = compiler.atom(compiler.visit(node.target))
    if optional.type.name != "optional_type":
        return _apply(compiler, node, [compiler.atom(compiler.converted(optional))])
    compiler.writer.charge(1)
    if node.function == "hasValue":
        return CodeValue(f"{optional.code}.present", BOOL, may_fail=optional.may_fail)
    with compiler.writer.block(f"if not {optional.code}.present:"):
        compiler.writer.line(f"raise {compiler.bind(CelError)}('optional.none() dereference')")
    shape = optional.shape.inner if optional.shape is not None else None
    kind = CelType("dyn") if shape is not None and shape.nullable else compiler.type_of(node)
    value = compiler.assign(f"{optional.code}.value", kind, may_fail=True)
    if shape is None:
        return value
    if shape.is_container:
        return read(compiler, value.code, shape)
    return compiler.converted(CodeValue(value.code, kind, shape, may_fail=True))


def _compile_membership(compiler: Compiler, node: Call) -> CodeValue:
    constant = compiler.folded.get(node.arguments[1].id)
    if is_set_literal(constant) and isinstance(constant, list):
        value = compiler.atom(compiler.converted(compiler.visit(node.arguments[0])))
        if value.type in {STRING, INT} and all(type_of(element) == value.type for element in constant):
            return CodeValue(f"({value.code} in {compiler.bind(frozenset(constant))})", BOOL, may_fail=value.may_fail)
        return compiler.assign(f"{compiler.bind(DYNAMIC['@in'])}({value.code}, {compiler.bind(constant)})", BOOL, may_fail=True)
    value, container = compile_operands(compiler, node.arguments, compiler.visit)
    value = compiler.atom(compiler.converted(value))
    plain = container.shape is not None and container.shape.is_plain and not container.is_dyn
    container = compiler.atom(container if plain else compiler.converted(container))
    charge_call(compiler, _determined(compiler, node), [value, container])
    if container.shape is not None and container.shape.is_map and value.type != STRING:
        with compiler.writer.block(f"if not isinstance({value.code}, str):"):
            compiler.writer.line(f"raise {compiler.bind(CelError)}({NO_SUCH_OVERLOAD!r})")
    if plain and value.type == STRING and container.shape is not None and (container.shape.is_map or _is_text(container)):
        return CodeValue(f"({value.code} in {container.code})", BOOL, may_fail=value.may_fail or container.may_fail)
    return compiler.assign(f"{compiler.bind(DYNAMIC['@in'])}({value.code}, {container.code})", BOOL, may_fail=True)


def _is_text(container: CodeValue) -> bool:
    element = None if container.shape is None else container.shape.element
    return element is not None and element.type == "string"


def _compile_non_zero(compiler: Compiler, node: Call) -> CodeValue:
    """Compile `optional.ofNonZeroValue`; the reference takes no object, map or list of a custom resource for a zero value."""
    operand = compiler.visit(node.arguments[0])
    value = compiler.atom(compiler.converted(operand))
    if operand.shape is None or not operand.shape.is_container or operand.shape.optional:
        return _apply(compiler, node, [value])
    compiler.writer.charge(1)
    optional, none = compiler.bind(OptionalValue), compiler.bind(OPTIONAL_NONE)
    return compiler.assign(f"{none} if {value.code} is None else {optional}({value.code})", compiler.type_of(node), may_fail=value.may_fail)


def _determined(compiler: Compiler, node: Call) -> str:
    found = compiler.checked.overloads.get(node.id, ())
    return found[0] if len(found) == 1 else ""


def _compile_function(compiler: Compiler, node: Call) -> CodeValue:
    return _apply(compiler, node, _arguments(compiler, node))


def _apply(compiler: Compiler, node: Call, arguments: list[CodeValue]) -> CodeValue:
    """Write the call of a function with evaluated arguments."""
    overload = _determined(compiler, node)
    libraries = compiler.candidates(node)
    if libraries or node.function not in DYNAMIC:
        return _apply_library(compiler, node, overload, libraries, arguments)
    codes = [argument.code for argument in arguments]
    kind = compiler.type_of(node)
    failing = any(argument.may_fail for argument in arguments)
    known = not any(argument.is_dyn for argument in arguments)
    charge_call(compiler, overload, arguments)
    if known and overload in TEMPLATES:
        return CodeValue(f"({TEMPLATES[overload].format(*codes)})", kind, may_fail=failing)
    if known and overload in CHECKED_TEMPLATES:
        return _checked(compiler, CHECKED_TEMPLATES[overload].format(*codes))
    if node.function == "matches" and isinstance(pattern := _constant_argument(compiler, node), str):
        return compiler.assign(f"{compiler.bind(ConstantPattern(pattern))}({codes[0]})", kind, may_fail=True)
    function = OVERLOADS[overload] if known and overload in OVERLOADS else DYNAMIC[node.function]
    return compiler.assign(f"{compiler.bind(function)}({', '.join(codes)})", kind, may_fail=True)


def _constant_argument(compiler: Compiler, node: Call) -> object:
    return compiler.folded.get(node.arguments[-1].id)


def _checked(compiler: Compiler, code: str) -> CodeValue:
    """Write integer arithmetic."""
    result = compiler.assign(code, INT, may_fail=True)
    with compiler.writer.block(f"if not {_SMALL.format(result.code)}:"):
        compiler.writer.line(f"{compiler.bind(checked_int)}({result.code})")
    return result


def _apply_library(compiler: Compiler, node: Call, overload: str, libraries: tuple[Overload, ...], arguments: list[CodeValue]) -> CodeValue:
    """Write the call of a function of a library."""
    codes = [argument.code for argument in arguments]
    if libraries and overload and not any(argument.is_dyn for argument in arguments):
        function: Any = libraries[0].implementation
    else:
        function = _dispatcher(node.function, libraries)
    kind = compiler.type_of(node)
    call = f"{compiler.bind(function)}({', '.join(codes)})"
    cost = library_cost(libraries[0] if libraries else None, determined=bool(overload))
    compiler.writer.charge(1)
    if cost is None or not compiler.counting:
        return compiler.assign(call, kind, may_fail=True)

    def charge(result: str) -> str:
        return f"{compiler.bind(cost)}(({''.join(f'{code}, ' for code in codes)}), {result}) - 1"

    with compiler.writer.block("try:"):
        result = compiler.assign(call, kind, may_fail=True)
    with compiler.writer.block(f"except {compiler.bind(CelError)}:"):
        compiler.writer.charge_result(charge("None"))
        compiler.writer.line("raise")
    compiler.writer.charge_result(charge(result.code))
    return result


def _dispatcher(name: str, libraries: tuple[Overload, ...]) -> Any:
    """Return a function that takes the first overload whose parameters fit."""

    def dispatch(*arguments: object) -> object:
        for each in libraries:
            if (
                each.implementation is not None
                and len(each.parameters) == len(arguments)
                and all(_fits(parameter, argument, each) for parameter, argument in zip(each.parameters, arguments, strict=True))
            ):
                return each.implementation(*arguments)
        if name in DYNAMIC:
            return DYNAMIC[name](*arguments)
        raise CelError(f"{NO_SUCH_OVERLOAD}: {name}({', '.join(str(type_of(argument)) for argument in arguments)})")

    return dispatch


def _fits(parameter: CelType, argument: object, overload: Overload) -> bool:
    """Return whether an argument has the type of a parameter; of a container the first element decides."""
    if not overload.guarded or parameter.name == "dyn" or parameter.name in overload.type_parameters:
        return True
    if type_of(argument).name != parameter.name:
        return False
    return all(_fits(part, value, overload) for part, value in zip(parameter.parameters, _first(argument), strict=False))


def _first(container: object) -> Sequence[object]:
    """Return the first element of a list, the first key and value of a map, or the value of an optional."""
    match container:
        case list():
            return container[:1]
        case dict():
            return next(iter(container.items()), ())
        case OptionalValue(present=True):
            return (container.value,)
    return ()
