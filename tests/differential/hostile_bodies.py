"""Bodies that mean harm: nested without end, odd numbers and texts, fields that stand twice, YAML with all its tricks."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.differential.pair import Step

GROUP: Final = "hostile.example.com"
PATH: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
ONE: Final = f"{PATH}/a"
DRY: Final = "?dryRun=All"
JSON: Final = {"Content-Type": "application/json"}
YAML: Final = {"Content-Type": "application/yaml"}
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
STRATEGIC: Final = {"Content-Type": "application/strategic-merge-patch+json"}
VALIDATIONS: Final = ("Strict", "Warn", "Ignore")

_FIELDS: Final[dict[str, Any]] = {
    "n": {"type": "integer"},
    "i": {"type": "integer", "format": "int32"},
    "f": {"type": "number"},
    "s": {"type": "string"},
    "b": {"type": "boolean"},
    "l": {"type": "array", "items": {"type": "integer"}},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
}
CRD: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": _FIELDS}}}},
            }
        ],
    },
}


def body(spec: bytes, metadata: bytes = b'"name":"a"', more: bytes = b"") -> bytes:
    """An object in JSON whose parts are given as they stand."""
    return b'{"apiVersion":"%b/v1","kind":"Thing","metadata":{%b},"spec":{%b}%b}' % (GROUP.encode(), metadata, spec, more)


def arrays(levels: int) -> bytes:
    """Lists in lists."""
    return b"[" * levels + b"]" * levels


def objects(levels: int) -> bytes:
    """Objects in objects."""
    return b'{"a":' * levels + b"1" + b"}" * levels


NUMBERS: Final = (
    *(b"1e400", b"-1e400", b"-0", b"-0.0", b"1E+2", b"1e2", b"0.1e1", b"1.0", b"10e-1", b"1.5", b"1e-400", b"5e-324", b"1e21", b"1e20"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"-9223372036854775809", b"18446744073709551615"),
    *(
        b"18446744073709551616",
        b"9007199254740993",
        b"2147483648",
        b"1.7976931348623157e308",
        b"1.7976931348623159e308",
        b"1e-7",
        b"0.00001",
    ),
    *(
        b"1" * 100,
        b"1" * 309,
        b"1" * 10_000,
        b"0." + b"1" * 10_000,
        b"1e" + b"9" * 1000,
        b"1e-" + b"9" * 1000,
        b"1." + b"0" * 400,
        b"-" + b"9" * 40,
    ),
    *(
        b"01",
        b"00",
        b"-01",
        b"+1",
        b"0x10",
        b"1.",
        b".5",
        b"-",
        b"1e",
        b"1e+",
        b"--1",
        b"1_000",
        b"1,000",
        b"Infinity",
        b"-Infinity",
        b"NaN",
    ),
    *(b"nan", b"1f", b"0b1", b"0o7", b"1 2", b"true1", b"tru", b"nul", b"None", b"True", b"undefined", b"'a'", b"\xef\xbc\x91"),
)
TEXTS: Final = (
    *(b'"\xff"', b'"\xc3"', b'"\xc3\x28"', b'"\xe2\x82"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xc0\x80"', b'"a\xff\xfeb"'),
    *(b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\ud800\\udc00"', b'"\\ud83d\\ude00"', b'"\\ud800x"', b'"\\uD83D\\u0041"', b'"\\\\ud800"'),
    *(b'"\\u0000"', b'"\x00"', b'"\x01"', b'"\x1f"', b'"\x7f"', b'"\t"', b'"\n"', b'"\\u007f"', b'"\\u0001"', b'"\\u2028\\u2029"'),
    *(b'"\\x41"', b'"\\a"', b'"\\u12"', b'"\\u12G4"', b'"\\"', b'"', b'"abc', b'"\\/"', b'"<>&"', b'"\xef\xbb\xbf"', b'"\xe2\x80\xa8"'),
    *(b'"' + b"x" * 100_000 + b'"', b'"\\u003c"', b'"\xf0\x9f\x98\x80"', b'"\\b\\f\\n\\r\\t"', b'"it\'s"'),
)
DUPLICATES: Final = (
    body(b'"n":1,"n":2'),
    body(b'"any":{"a":1,"a":{"b":1,"b":2},"a":1}'),
    body(b'"any":[{"a":1,"a":2},{"a":1,"a":2}]'),
    body(b'"n":1', b'"name":"a","name":"b"'),
    body(b'"n":1', b'"name":"a","labels":{"x":"y","x":"z"}'),
    body(b'"n":1', b'"name":"a","Name":"b"'),
    body(b'"n":1', b'"name":"a","unknown":1,"unknown":2'),
    body(b'"N":1,"n":2'),
    body(b'"n":1', more=b',"kind":"Other"'),
    body(b'"n":1', more=b',"Kind":"Other"'),
    body(b'"n":1', more=b',"KIND":"Thing","ApiVersion":"x/v1"'),
    body(b'"n":1', more=b',"spec":{"n":2}'),
    body(b'"n":1', more=b',"metadata":{"name":"b"}'),
    body(b'"n":1', more=b',"Metadata":{"name":"b"}'),
    body(b'"any":{"\\u0061":1,"a":2}'),
    body(b'"any":{"\xff":1,"\xfe":2}'),
    body(b'"any":{"\\ud800":1,"\\udfff":2}'),
    b'{"kind":"Thing","kind":1}',
    b'{"Kind":"Thing","APIVersion":"%b/v1"}' % GROUP.encode(),
)
KEYS: Final = (
    *(
        b'"":1',
        b'".":1',
        b'"a.b":1',
        b'"a/b":1',
        b'"a[0]":1',
        b'" ":1',
        b'"\\"":1',
        b'"\\u0000":1',
        b'"\xff":1',
        b'"\\ud800":1',
        b'"$ref":1',
    ),
    *(
        b'"\xe2\x98\x83":1',
        b'"__proto__":{}',
        b'"<":1',
        b'"\\n":1',
        b'"' + b"k" * 5000 + b'":1',
        b'"metadata":1',
        b'"kind":1',
        b'"apiVersion":1',
    ),
)
WHOLE: Final = (
    *(
        b"",
        b" ",
        b"null",
        b"true",
        b"1",
        b'"x"',
        b"[]",
        b"{}",
        b"[{}]",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b'{"',
        b'{"a',
        b'{"a"',
        b'{"a":',
        b'{"a":1',
    ),
    *(
        b'{"a":1,',
        b'{"a":1,}',
        b"{,}",
        b"[1,]",
        b"[,1]",
        b'{"a" 1}',
        b"{a:1}",
        b"{1:1}",
        b"{null:1}",
        b'{"a":1}}',
        b'{"a":1}{',
        b'{"a":1}x',
    ),
    *(b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"\x00", b"{}\x00", b"// x\n{}", b"{/* x */}", b"{} # x", b"NaN", b"Infinity", b"\x1b[31m"),
    *(
        b'{"kind":"Thing"}',
        b'{"apiVersion":"v1"}',
        b'{"kind":""}',
        b'{"kind":null}',
        b'{"kind":{}}',
        b'{"apiVersion":[],"kind":1}',
        b"\xff",
    ),
    *(
        b'{"kind":"Thing","apiVersion":"a/b/c"}',
        b'{"kind":"Thing","apiVersion":"%b/v2"}' % GROUP.encode(),
        b'{"kind":"Thing","apiVersion":" "}',
    ),
    *(
        b'{"kind":"Other","apiVersion":"%b/v1","spec":{"n":1e400}}' % GROUP.encode(),
        b'{"kind":1,"spec":{"n":1e400}}',
        b'{"spec":{"n":1e400}}',
    ),
    *(
        b'{"apiVersion":1,"spec":{"n":1e400}}',
        b'{"apiVersion":"a/b/c","kind":"Thing","n":1e400}',
        b'{"n":1e400,"kind":1}',
        b"[1e400]",
        b"1e400",
    ),
    *(
        body(b'"n":1') + b"x",
        body(b'"n":1') + b"{}",
        body(b'"n":1') + b"\n\n ",
        b"\n\t" + body(b'"n":1'),
        body(b'"n":1')[:-1],
        b"k8s\x00" + body(b""),
    ),
    *(
        b"[" * 3000,
        b"{" * 3000,
        b'{"a":' * 3000,
        b"[" * 10_001,
        b'[{"a":' * 5001,
        b'"' + b"\\" * 3001,
        b'"\\u',
        b'"\\u12',
        b'["\\',
        b"tru",
        b"[n",
        b"-",
        b"[1.",
        b"1e",
        b"1e+",
        b"f",
    ),
)
_METADATA: Final = ("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
_LISTS: Final = ("labels", "annotations", "finalizers", "ownerReferences", "managedFields", "selfLink", "deletionGracePeriodSeconds")
_WRONG: Final = (
    b"1",
    b"1.5",
    b'"x"',
    b"true",
    b"null",
    b"[]",
    b"{}",
    b"[1]",
    b'["x"]',
    b"[null]",
    b"[{}]",
    b'{"a":1}',
    b'{"a":null}',
    b"-1",
    b'""',
    b"1e400",
)


def bodies() -> Iterator[bytes]:
    """Objects in JSON, most of them no good."""
    yield from WHOLE
    yield from DUPLICATES
    for value in (*NUMBERS, *TEXTS):
        yield from (body(b'"%b":%b' % (name, value)) for name in (b"any", b"n"))
    for value in NUMBERS[:24]:
        yield from (body(b'"%b":%b' % (name, value)) for name in (b"i", b"f", b"s"))
        yield body(b'"l":[%b,{"a":%b}]' % (value, value))
    yield from (body(b'"any":{%b},%b' % (key, key)) for key in KEYS)
    yield from (body(b'"any":{},"n":2', b'"name":"a",%b' % key) for key in KEYS)


def metadata() -> Iterator[bytes]:
    """Objects with a wrong type in each field of the metadata."""
    for name in (*_METADATA, *_LISTS):
        yield from (body(b"", b'"%b":%b' % (name.encode(), wrong)) for wrong in _WRONG)
    for wrong in _WRONG:
        yield b'{"apiVersion":"%b/v1","kind":"Thing","metadata":%b}' % (GROUP.encode(), wrong)
        yield b'{"apiVersion":%b,"kind":"Thing","metadata":{"name":"a"}}' % wrong
        yield b'{"apiVersion":"%b/v1","kind":%b,"metadata":{"name":"a"}}' % (GROUP.encode(), wrong)
        yield b'{"apiVersion":"%b/v1","kind":"Thing","metadata":{"name":"a"},"spec":%b}' % (GROUP.encode(), wrong)


def _laughs(levels: int, width: int) -> bytes:
    lines = [b"a0: &a0 x"]
    lines += [b"a%d: &a%d [%b]" % (level, level, b",".join([b"*a%d" % (level - 1)] * width)) for level in range(1, levels)]
    return b"\n    ".join(lines)


_SCALARS: Final = (
    *(
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "Yes",
        "TRUE",
        "~",
        "null",
        "Null",
        "",
        "0o17",
        "017",
        "0x1F",
        "0b101",
        "1_000",
        "190:20:30",
        "1:2",
    ),
    *(
        "2001-01-01",
        "2001-12-14t21:59:43.10-05:00",
        "2001-12-14 21:59:43.10 -5",
        ".inf",
        "-.inf",
        ".nan",
        "1e400",
        "1e3",
        "1.",
        ".5",
        "+1",
        "-0",
    ),
    *(
        "9223372036854775808",
        "18446744073709551616",
        "1.0",
        "0.1e1",
        "!!str 1",
        "!!int '1'",
        "!!float 1",
        "!!bool yes",
        "!!null x",
        "!!int x",
    ),
    *(
        "!!binary aGVsbG8=",
        "!!binary '!'",
        "!!python/object:os.system x",
        "!custom x",
        "!!timestamp 2001-01-01",
        "!!set {a, b}",
        "! 1",
        "!!map [a]",
    ),
    *(
        "'it''s'",
        '"\\x41\\u263A"',
        '"\\ud800"',
        '"\\q"',
        "|\n      text\n",
        ">-\n      a\n      b",
        "|2\n     x",
        "'",
        '"',
        "[",
        "{",
        "]",
        "@x",
        "`x",
        "%x",
    ),
    *(
        "{a: 1, a: 2}",
        "{1: a}",
        "{true: a}",
        "{~: a}",
        "{1.5: a}",
        "{[1]: a}",
        "{{a: 1}: b}",
        "{? a}",
        "{2001-01-01: a}",
        "{1: a, '1': b}",
        "{a: b: c}",
    ),
    *(
        "&x [*x]",
        "*none",
        "&a b",
        "{a: &a 1, b: *a}",
        "{a: &a {x: 1}, <<: *a}",
        "{<<: 1}",
        "{<<: [{a: 1}, {b: 2}]}",
        "{<<: [1]}",
        "{x: 1, <<: {x: 2}}",
    ),
    *(
        "<<",
        "=",
        "- a",
        "a: b",
        "a: b: c",
        "? a",
        "&",
        "*",
        "!",
        "!<tag:yaml.org,2002:str> 1",
        "\u2028",
        "\u00e9",
        "#x",
        "a #x",
        "---",
        "...",
        "a\n  b: c",
    ),
    *(
        "1" * 400,
        "0x" + "f" * 40,
        "- - - a",
        "[a, b",
        "{a, b",
        "[,]",
        "{,}",
        "[a,,b]",
        "\tx",
        "a\tb",
        "12e03",
        "1e",
        "0x",
        "-",
        "--1",
        "08",
        "-0x1",
        "0.e1",
    ),
)
YAML_WHOLE: Final = (
    *(
        b"",
        b"---",
        b"---\n---\n",
        b"null",
        b"~",
        b"- a",
        b"x",
        b"1",
        b"--- {}\n--- {}",
        b"%YAML 1.1\n---\n{}",
        b"%YAML 9.9\n---\n{}",
        b"%TAG ! x\n",
        b"...",
        b"#",
    ),
    *(
        b"\tkind: Thing",
        b"kind:\tThing",
        b"kind: Thing\n\tx: y",
        b"a: b\n c: d",
        b"a:\n- b\n c",
        b"\xef\xbb\xbfkind: Thing",
        b"\xff",
        b"a: \xff",
        b"a: \x00",
        b"a: \x01",
    ),
    *(
        b"\xff\xfea\x00:\x00 \x001\x00",
        b"kind: Thing\nkind: Other",
        b"kind: [",
        b"kind: {",
        b"kind: 'x",
        b'kind: "x',
        b"kind: *x",
        b"? kind\n: Thing",
        b"kind: !!int 1",
    ),
    *(
        b"{" * 300,
        b"[" * 300,
        b"- " * 300,
        b"[" * 10_001,
        b"{a: " * 10_001,
        b"a: &a [*a]",
        b"kind: |\n Thing",
        b"a: b\n\n\n---\nc: [",
        b"kind: Thing\n---\nkind: [",
        b"@",
    ),
)


def yaml_bodies() -> Iterator[bytes]:
    """Objects in YAML with each of its oddities."""
    head = f"apiVersion: {GROUP}/v1\nkind: Thing\nmetadata:\n  name: a\n"
    yield from YAML_WHOLE
    for scalar in _SCALARS:
        yield f"{head}spec:\n  any: {scalar}\n".encode()
        yield f"{head}spec:\n  any:\n    b: {scalar}\n  n: {scalar}\n".encode()
    for scalar in _SCALARS[:60]:
        yield head.replace("name: a", f"name: a\n  labels: {{x: {scalar}}}").encode()
    for levels, width in ((3, 3), (5, 5), (9, 9), (20, 2), (40, 2)):
        yield f"{head}spec:\n  any:\n    ".encode() + _laughs(levels, width)
    for levels in (100, 250, 300, 2000):
        yield f"{head}spec:\n  any: ".encode() + arrays(levels)[:levels] + b"x" + arrays(levels)[levels:]
    yield f"{head}spec:\n  any: 1\n---\nkind: Other".encode()
    yield f"{head}spec:\n  any: 1\n  any: 2\n  unknown: 3\nspec: {{}}\n".encode()
    yield f"{head}  name: b\nspec: {{n: 1, n: 2, N: 3}}\n".encode()


_KINDLESS: Final = (b'{"kind":""}', b'{"kind":null}')
"""Answered with the whole object in a quotation within a quotation, with what tells two servers apart."""
_KIND_NO_TEXT: Final = (b'{"kind":{}}', b'{"apiVersion":[],"kind":1}')
"""Answered in words of a converter between Go types that apiext has no use for."""


def patches() -> Iterator[Step]:
    """Patches of each kind that are no good."""
    for whole in (*WHOLE, *DUPLICATES[:12]):
        yield Step("PATCH", ONE + DRY, whole, JSON_PATCH)
        if whole not in _KINDLESS:
            yield Step("PATCH", ONE + DRY, whole, MERGE)
    for value in (*NUMBERS, *TEXTS):
        yield Step("PATCH", ONE + DRY, b'{"spec":{"any":%b,"n":%b}}' % (value, value), MERGE)
        yield Step("PATCH", ONE + DRY, b'[{"op":"add","path":"/spec/any","value":%b}]' % value, JSON_PATCH)
    for key in KEYS:
        yield Step("PATCH", ONE + DRY, b'{"spec":{"any":{%b},%b}}' % (key, key), MERGE)
        yield Step("PATCH", ONE + DRY, b'{"metadata":{%b}}' % key, MERGE)
        yield Step("PATCH", ONE + DRY, b'[{"op":"add","path":"/spec/any","value":{%b},%b}]' % (key, key), JSON_PATCH)
    for wrong in _WRONG:
        yield Step("PATCH", ONE + DRY, b'[{"op":%b,"path":"/spec/n","value":1}]' % wrong, JSON_PATCH)
        yield Step("PATCH", ONE + DRY, b'[{"op":"add","path":%b,"value":1}]' % wrong, JSON_PATCH)
        yield Step("PATCH", ONE + DRY, b'[{"op":"copy","from":%b,"path":"/spec/s"}]' % wrong, JSON_PATCH)


def strategic() -> Iterator[Step]:
    """Strategic merge patches of a built-in kind that are no good."""
    for whole in (*WHOLE, *DUPLICATES[:12]):
        if whole not in _KIND_NO_TEXT:
            yield Step("PATCH", f"/api/v1/namespaces/default{DRY}", whole, STRATEGIC)


def delete_options() -> Iterator[Step]:
    """Options of deletions that are no good, of an object that is not there."""
    path = f"{PATH}/none"
    for whole in WHOLE:
        yield Step("DELETE", path, whole or b" ", JSON)
    for whole in YAML_WHOLE:
        yield Step("DELETE", path, whole or b" ", YAML)
    for name in ("gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy", "dryRun", "apiVersion", "kind", "other"):
        for wrong in (*_WRONG, *NUMBERS[:22]):
            yield Step("DELETE", path, b'{"%b":%b}' % (name.encode(), wrong), JSON)


def _created(made: Callable[[], Iterator[bytes]], headers: dict[str, str]) -> Callable[[], Iterator[Step]]:
    def steps() -> Iterator[Step]:
        for number, data in enumerate(made()):
            yield Step("POST", f"{PATH}{DRY}&fieldValidation={VALIDATIONS[number % len(VALIDATIONS)]}", data, headers)

    return steps


def _updated() -> Iterator[Step]:
    for data in (*WHOLE, *DUPLICATES, *(body(b'"any":%b' % value) for value in (*NUMBERS[:30], *TEXTS[:30]))):
        yield Step("PUT", f"{ONE}{DRY}", data, JSON)


TABLES: Final[Mapping[str, Callable[[], Iterator[Step]]]] = {
    "create JSON": _created(bodies, JSON),
    "create metadata": _created(metadata, JSON),
    "create YAML": _created(yaml_bodies, YAML),
    "update": _updated,
    "patch": patches,
    "strategic merge patch": strategic,
    "delete": delete_options,
}
