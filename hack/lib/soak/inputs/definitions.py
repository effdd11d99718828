"""Definitions with costly columns, patterns, schemas or names."""

import json
from typing import Any, Final

from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import CRDS, GROUP, KIND, definition, widget

_TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_PLURAL: Final = "gadgets"
_GADGET: Final = "Gadget"


def _use(attack: Attack, *specs: dict[str, Any], schema: dict[str, Any] | None = None, **version: Any) -> None:
    """Serve a definition, write objects of it, and read them and its documents in every form."""
    with attack.defined(definition(_PLURAL, _GADGET, spec=schema or _OPEN, **version)) as path:
        for number, spec in enumerate(specs):
            attack.ask("POST", path, widget(f"gadget-{number}", kind=_GADGET, **spec))
        attack.ask("GET", path, headers=_TABLE)
        if not attack.reduced:
            attack.ask("GET", f"{path}?watch=true&timeoutSeconds=1", headers=_TABLE)
        attack.ask("GET", path)
        for document in (f"/openapi/v3/apis/{GROUP}/v1", "/openapi/v2"):
            attack.ask("GET", document)


def _column(json_path: str, kind: str = "string") -> dict[str, str]:
    return {"name": "C", "type": kind, "jsonPath": json_path}


def printer_columns(attack: Attack) -> None:
    """Print columns with long, repeated and recursive paths."""
    tree: dict[str, Any] = {"x": 1}
    for _ in range(15):
        tree = {"x": tree, "y": tree["x"]}
    many = attack.size(20_000, 2_000)
    wide = {"list": [{"a": number, "b": [1, 2, 3]} for number in range(attack.size(3_000, 300))]}
    paths = ["{.b}" * many, ".b" * many, "['x','x']" * 25, ".spec" + "['x','x']" * 25, ".spec" + ".*" * 25, ".." * 50, ".spec" + "..x" * 20]
    paths += [
        ".spec.list[*].b[*]",
        ".spec.list[::1]",
        ".spec.list[?(@.a>1)].b[?(@>1)]",
        ".spec.list" + "[0:9999999]" * 9,
        ".spec.list[" + "0," * 9_000 + "0]",
    ]
    paths += [
        "{range .spec.list[*]}{.a}" * 100,
        ".spec" + "[?(@.x==1)]" * 50,
        ".spec['" + "x" * 9_000 + "']",
        "{" * 9_000,
        "[" * 9_000,
        "\\" * 9_000,
    ]
    for path in attack.some(paths):
        _use(attack, {"x": tree}, wide, additionalPrinterColumns=[_column(path)])
    _use(
        attack,
        wide,
        additionalPrinterColumns=[{**_column(".spec.list"), "name": f"c{number}"} for number in range(attack.size(2_000, 200))],
    )
    _use(
        attack,
        {"x": "9" * 100_000},
        additionalPrinterColumns=[_column(".spec.x", kind) for kind in ("integer", "number", "boolean", "date")],
    )


def patterns(attack: Attack) -> None:
    """Compile patterns that are long or that nested repetitions make large, and match long texts."""
    long = "a" * attack.size(500_000, 50_000)
    repeated = "a"
    for _ in range(40):
        repeated = f"(?:{repeated}|{'b' * 10})?"
    texts = [
        "(((a{1,10}){1,10}){1,10})",
        "(((a{1,100}){1,100}){1,10}){1,10}",
        "(" * 400 + "a" + ")" * 400,
        "(a*)*" * 160,
        "a?" * 400 + "a" * 46,
        "[^a]" * 211,
    ]
    texts += [
        "(?:" + "|".join(f"a{number}" for number in range(150)) + ")*",
        "\\pL{1000}",
        "(?i)" + "[a-zé]" * 140,
        "(x+x+)+y",
        repeated,
        "a{1000}" * 120,
        "\\" * 845,
    ]
    for text in attack.some(texts):
        _use(attack, {"s": long}, {"s": long + "!"}, schema={"type": "object", "properties": {"s": {"type": "string", "pattern": text}}})
    many = {f"p{number}": {"type": "string", "pattern": f"^(a{number}[a-z]{{1,50}}){{1,10}}$"} for number in range(attack.size(2_000, 100))}
    _use(attack, dict.fromkeys(many, "abc"), schema={"type": "object", "properties": many})


def _ruled(schema: dict[str, Any], *texts: str) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": text, "message": "broken"} for text in texts]}


def rules(attack: Attack) -> None:
    """Compile rules that are long, deep or many, and evaluate some that use up what an object may cost."""
    long = attack.size(90_000, 9_000)
    numbers = {"type": "array", "items": {"type": "integer"}, "maxItems": 700}
    texts = [
        "true" + " && true" * (long // 8),
        "!" * long + "true",
        "(" * 240 + "true" + ")" * 240,
        "(" * long,
        "[" * long,
        "self" + ".n" * (long // 2),
        "'" + "x" * long + "' == ''",
        "[1" + ", 1" * (long // 3) + "].all(x, x > 0)",
        "[1" + ", 1" * 40 + "].all(x, x > 0) && " * (long // 150) + "true",
        "self.n.all(a, self.n.all(b, self.n.all(c, self.n.all(d, a + b + c + d > 0))))",
        "'a'.matches('" + "(a{1,10})" * 100 + "')",
        "true ? " * (long // 20) + "true" + " : false" * (long // 20),
    ]
    for text in attack.some(texts):
        _use(attack, {"n": [1] * 20}, {"n": [0]}, schema=_ruled({"type": "object", "properties": {"n": numbers}}, text))
    many = [f"self.n.size() != {number} || self.n.exists(x, x > {number})" for number in range(attack.size(2_000, 200))]
    _use(attack, {"n": [1] * 20}, schema=_ruled({"type": "object", "properties": {"n": numbers}}, *many))
    quadratic = "self.all(x, self.all(y, x >= 0))"
    costly = {"type": "array", "items": _ruled({**numbers, "maxItems": 180}, quadratic), "maxItems": 60}
    schema = {"type": "object", "properties": {"a": costly, "b": costly, "c": costly, "d": _ruled(numbers, quadratic)}}
    full = dict.fromkeys("abc", [[1] * 180] * 60)
    _use(attack, full, {"d": [1] * 700}, full, {"a": [[1] * 50] * 4}, schema=schema)


def schemas(attack: Attack) -> None:
    """Serve schemas with many properties, values, defaults, requirements and levels."""
    count = attack.size(10_000, 1_000)
    text = {"type": "string"}
    deep: dict[str, Any] = text
    for _ in range(80):
        deep = {"type": "object", "properties": {"a": deep}}
    growing: dict[str, Any] = {
        "type": "object",
        "default": {},
        "properties": {f"k{number}": {"type": "string", "default": "x" * 100} for number in range(20)},
    }
    default = {"type": "object", "properties": {"list": {"type": "array", "items": growing}}}
    either = {"anyOf": [{"required": [f"k{number}"]} for number in range(count)], "not": {"anyOf": [{"required": ["none"]}] * 900}}
    for schema, spec in (
        ({"type": "object", "properties": {f"k{number}": text for number in range(count)}}, {f"k{number}": "x" for number in range(count)}),
        ({"type": "object", "properties": {"e": {"type": "string", "enum": [f"v{number}" for number in range(count)]}}}, {"e": "none"}),
        ({"type": "object", "required": [f"k{number}" for number in range(count)], "properties": {"a": text}}, {}),
        (default, {"list": [{}] * attack.size(1_000, 100)}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True, **either}, {"a": 1}),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": text, "uniqueItems": False, "maxItems": 5}}},
            {"a": ["x"] * 10 * count},
        ),
        (deep, {"a": {}}),
        ({**_OPEN, "description": "x" * attack.size(1_000_000, 100_000)}, {}),
        ({"type": "object", "properties": {"k" * attack.size(100_000, 9_000): text}}, {"a": 1}),
    ):
        _use(attack, spec, schema=schema)


def definition_lists(attack: Attack) -> None:
    """Create definitions with many versions, names, selectable fields and labels."""
    count = attack.size(5_000, 300)
    base = definition(_PLURAL, _GADGET, spec=_OPEN)
    version = base["spec"]["versions"][0]
    names = base["spec"]["names"]
    taken = {"names": {**names, "kind": KIND}}
    for change in (
        {"versions": [{**version, "name": f"v{number + 1}", "storage": not number} for number in range(attack.size(200, 20))]},
        {"versions": [version] * attack.size(2_000, 200)},
        {
            "names": {
                **names,
                "shortNames": [f"s{number}" for number in range(count)],
                "categories": [f"c{number}" for number in range(count)],
            }
        },
        taken,
        {"names": {**names, "plural": "x" * 100_000}},
        {"versions": [{**version, "selectableFields": [{"jsonPath": ".spec" + ".a" * number} for number in range(1, count // 10)]}]},
        {"versions": [{**version, "subresources": {"scale": {"specReplicasPath": ".a" * count, "statusReplicasPath": "['" * count}}}]},
        {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1"] * count, "clientConfig": {"url": "https://" + "x" * 100_000}},
            }
        },
        {"group": "a." * 50_000},
    ):
        with attack.defined({**base, "spec": {**base["spec"], **change}}, served=change != taken) as path:
            attack.ask("GET", path)
            attack.ask("GET", "/apis")


def changing_definitions(attack: Attack) -> None:
    """Change a definition many times while it is read, and send bodies that are no definition."""
    with attack.defined(definition(_PLURAL, _GADGET, spec=_OPEN)) as path:
        name = f"{CRDS}/{_PLURAL}.{GROUP}"
        for number in range(attack.size(50, 5)):
            body = {"spec": {"names": {"categories": [f"c{number}"]}}, "metadata": {"annotations": {"a": "x" * 100_000}}}
            attack.ask("PATCH", name, body, {"Content-Type": "application/merge-patch+json"})
            attack.ask("GET", path, headers=_TABLE)
    broken: tuple[Any, ...] = ([], None, "x", {"versions": [None] * 9_000}, {"versions": {"a": 1}}, {"names": []}, {"versions": [[[]]]})
    for spec in broken:
        attack.ask("POST", CRDS, json.dumps({**definition(_PLURAL), "spec": spec}).encode())


INPUTS: Final = (printer_columns, patterns, rules, schemas, definition_lists, changing_definitions)
