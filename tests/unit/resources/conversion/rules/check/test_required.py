"""What the check says of required fields, compared with the conversion of all objects that a schema allows."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.check.checker import check_rules
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.conversions import OPEN, compiled, conversion, converted
from tests.support.builders.related_versions import STRING, array, obj

NAMES: Final = "abc"
MOST_OBJECTS: Final = 300
REQUIRED: Final = re.compile(r"^v2 requires (\S+), (?:for which|which objects)")
OTHER_PROBLEM: Final = re.compile(r"^(?!v\d requires |v1 has no field )")
"""Rules that do not fit are no example; those that do not fit on the way back are one."""

LEAVES: Final = st.just(STRING)
TREES: Final = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3).flatmap(
            lambda members: st.sets(st.sampled_from([*members])).map(lambda required: obj(tuple(sorted(required)), **members))
        ),
        inner.filter(lambda items: items["type"] == "object").map(array),
    ),
    max_leaves=5,
)


def _values(schema: Any) -> list[Any]:
    """Return all values of a schema: each optional field is there or not, each list has no item or one."""
    if schema["type"] == "string":
        return ["x"]
    if schema["type"] == "array":
        return [[], *([item] for item in _values(schema["items"]))]
    choices = [
        [(name, value) for value in _values(child)] + ([] if name in schema.get("required", ()) else [(name, None)])
        for name, child in schema["properties"].items()
    ]
    return [{name: value for name, value in members if value is not None} for members in product(*choices)]


def _paths(schema: Any, path: str = "spec") -> Iterator[tuple[str, Any]]:
    """Yield the path and schema of each value below spec."""
    if schema["type"] == "array":
        yield from _paths(schema["items"], f"{path}[*]")
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from _paths(child, f"{path}.{name}")


@st.composite
def _rule(draw: Any, spec: Any) -> Any:
    """Draw a rule about one of the fields of a schema, which earlier rules may have moved."""
    fields = [*_paths(spec)]
    path, schema = draw(st.sampled_from(fields))
    prefix = path[: path.rindex("[*]") + 3] if "[*]" in path else "spec"
    inner = [(each, child) for each, child in fields if each.startswith(f"{prefix}.") and "[*]" not in each[len(prefix) :]]
    parents = [each for each, child in inner if child["type"] == "object"]
    parent = draw(st.sampled_from([prefix, f"{prefix}.n", *parents]))
    target = f"{parent}.{draw(st.sampled_from('xyz'))}"
    rules = [{"move": {"from": path, "to": target}}, {"copy": {"from": path, "to": target}}, {"wrap": {"path": path, "field": "w"}}]
    rules += [{"wrap": {"path": path, "list": True}}, {"default": {"path": target, "value": "d"}}]
    if schema["type"] == "object":
        rules += [{"unwrap": {"path": path, "field": name}} for name in schema["properties"]]
    if schema["type"] == "array":
        rules.append({"unwrap": {"path": path, "list": True}})
    if schema["type"] == "string":
        rules.append({"split": {"path": path, "to": [target, f"{parent}.q"], "separator": ":"}})
    return draw(st.sampled_from(rules))


def _union(values: list[Any]) -> Any:
    """Return the schema of all members of some values."""
    if type(values[0]) is dict:
        names = sorted({name for value in values for name in value})
        return obj(**{name: _union([value[name] for value in values if name in value]) for name in names})
    if type(values[0]) is list:
        items = [item for value in values for item in value]
        return array(_union(items)) if items else array(obj())
    return STRING


def _lacking(schema: Any, value: Any, path: str) -> Iterator[str]:
    """Yield the required fields that a value lacks."""
    if type(value) is list:
        for item in value:
            yield from _lacking(schema["items"], item, f"{path}[*]")
    elif type(value) is dict:
        yield from (f"{path}.{name}" for name in schema.get("required", ()) if name not in value)
        for name, member in value.items():
            yield from _lacking(schema["properties"][name], member, f"{path}.{name}")


@given(st.data())
def test_required_fields_are_reported_where_objects_lack_them(data: Any) -> None:
    """Report each required field that the converted objects lack where its parent is; for one rule, no others."""
    spec = data.draw(TREES.filter(lambda tree: tree["type"] == "object"))
    rules = data.draw(st.lists(_rule(spec), min_size=1, max_size=3))
    objects = [{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": value} for value in _values(spec)]
    open_rules = compiled(conversion(v1=rules), v1=obj(("spec",), spec=spec), v2=OPEN)
    try:
        results = [converted(open_rules, each, "v2")[0].get("spec") for each in objects[:MOST_OBJECTS]]
    except ConversionError:
        return
    kinds = {(re.sub(r"\[\d+\]", "[*]", path), kind) for value in results for path, kind in _types(value)}
    if len(objects) > MOST_OBJECTS or len({path for path, _ in kinds}) < len(kinds):
        return
    hub = _required(data, _union(results))
    schemas = {"v1": CompiledSchema(obj(("spec",), spec=spec)), "v2": CompiledSchema(obj(spec=hub))}
    report = check_rules(parse_rules(conversion(v1=rules)), schemas)
    if any(OTHER_PROBLEM.search(each.message) for each in report.problems):
        return

    found = {match[1] for each in report.findings if (match := REQUIRED.match(each.message))}

    lacking = {path for value in results for path in _lacking(hub, value, "spec")}
    assert found == lacking if len(rules) == 1 else found >= lacking


def _types(value: Any, path: str = "spec") -> Iterator[tuple[str, type]]:
    """Yield the path and type of each value."""
    yield path, type(value)
    for step, member in value.items() if type(value) is dict else enumerate(value) if type(value) is list else ():
        yield from _types(member, f"{path}[{step}]" if type(value) is list else f"{path}.{step}")


def _required(data: Any, schema: Any) -> Any:
    """Return a schema with some fields required."""
    if schema["type"] == "array":
        return array(_required(data, schema["items"]))
    if schema["type"] != "object" or not schema["properties"]:
        return schema
    names = data.draw(st.sets(st.sampled_from([*schema["properties"]])))
    return obj(tuple(sorted(names)), **{name: _required(data, child) for name, child in schema["properties"].items()})
