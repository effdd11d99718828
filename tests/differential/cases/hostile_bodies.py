"""Requests with hostile bodies: odd values in every place, YAML syntax, patches and DeleteOptions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from hack.lib.differential.pair import Step
from tests.differential.cases.hostile_values import (
    DRY,
    DUPLICATES,
    GROUP,
    JSON,
    JSON_PATCH,
    KEYS,
    LISTS,
    MERGE,
    METADATA,
    NUMBERS,
    ONE,
    PATH,
    STRATEGIC,
    TEXTS,
    VALIDATIONS,
    WHOLE,
    WRONG,
    YAML,
    arrays,
    body,
)


def bodies() -> Iterator[bytes]:
    """Return objects in JSON, most of them invalid."""
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
    """Return objects with a wrong type in each field of the metadata."""
    for name in (*METADATA, *LISTS):
        yield from (body(b"", b'"%b":%b' % (name.encode(), wrong)) for wrong in WRONG)
    for wrong in WRONG:
        yield b'{"apiVersion":"%b/v1","kind":"Thing","metadata":%b}' % (GROUP.encode(), wrong)
        yield b'{"apiVersion":%b,"kind":"Thing","metadata":{"name":"a"}}' % wrong
        yield b'{"apiVersion":"%b/v1","kind":%b,"metadata":{"name":"a"}}' % (GROUP.encode(), wrong)
        yield b'{"apiVersion":"%b/v1","kind":"Thing","metadata":{"name":"a"},"spec":%b}' % (GROUP.encode(), wrong)


def _laughs(levels: int, width: int) -> bytes:
    lines = [b"a0: &a0 x"]
    lines += [b"a%d: &a%d [%b]" % (level, level, b",".join([b"*a%d" % (level - 1)] * width)) for level in range(1, levels)]
    return b"\n    ".join(lines)


_SCALARS: Final = (
    *("yes", "no", "on", "off", "y", "n", "Yes", "TRUE", "~", "null", "Null", "", "0o17", "017", "0x1F", "0b101", "1_000"),
    *("190:20:30", "1:2", "2001-01-01", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", ".inf", "-.inf", ".nan"),
    *("1e400", "1e3", "1.", ".5", "+1", "-0", "9223372036854775808", "18446744073709551616", "1.0", "0.1e1", "!!str 1", "!!int '1'"),
    *("!!float 1", "!!bool yes", "!!null x", "!!int x", "!!binary aGVsbG8=", "!!binary '!'", "!!python/object:os.system x"),
    *("!custom x", "!!timestamp 2001-01-01", "!!set {a, b}", "! 1", "!!map [a]", "'it''s'", '"\\x41\\u263A"', '"\\ud800"', '"\\q"'),
    *("|\n      text\n", ">-\n      a\n      b", "|2\n     x", "'", '"', "[", "{", "]", "@x", "`x", "%x", "{a: 1, a: 2}", "{1: a}"),
    *("{true: a}", "{~: a}", "{1.5: a}", "{[1]: a}", "{{a: 1}: b}", "{? a}", "{2001-01-01: a}", "{1: a, '1': b}", "{a: b: c}"),
    *("&x [*x]", "*none", "&a b", "{a: &a 1, b: *a}", "{a: &a {x: 1}, <<: *a}", "{<<: 1}", "{<<: [{a: 1}, {b: 2}]}", "{<<: [1]}"),
    *("{x: 1, <<: {x: 2}}", "<<", "=", "- a", "a: b", "a: b: c", "? a", "&", "*", "!", "!<tag:yaml.org,2002:str> 1", "\u2028", "é"),
    *("#x", "a #x", "---", "...", "a\n  b: c", "1" * 400, "0x" + "f" * 40, "- - - a", "[a, b", "{a, b", "[,]", "{,}", "[a,,b]"),
    *("\tx", "a\tb", "12e03", "1e", "0x", "-", "--1", "08", "-0x1", "0.e1"),
)
YAML_WHOLE: Final = (
    *(b"", b"---", b"---\n---\n", b"null", b"~", b"- a", b"x", b"1", b"--- {}\n--- {}", b"%YAML 1.1\n---\n{}"),
    *(b"%YAML 9.9\n---\n{}", b"%TAG ! x\n", b"...", b"#", b"\tkind: Thing", b"kind:\tThing", b"kind: Thing\n\tx: y", b"a: b\n c: d"),
    *(b"a:\n- b\n c", b"\xef\xbb\xbfkind: Thing", b"\xff", b"a: \xff", b"a: \x00", b"a: \x01", b"\xff\xfea\x00:\x00 \x001\x00"),
    *(b"kind: Thing\nkind: Other", b"kind: [", b"kind: {", b"kind: 'x", b'kind: "x', b"kind: *x", b"? kind\n: Thing"),
    *(b"kind: !!int 1", b"{" * 150, b"[" * 150, b"- " * 150, b"{a: " * 150, b"a: &a [*a]", b"kind: |\n Thing"),
    *(b"a: b\n\n\n---\nc: [", b"kind: Thing\n---\nkind: [", b"@"),
)


def yaml_bodies() -> Iterator[bytes]:
    """Return objects in YAML with each of its special syntaxes."""
    head = f"apiVersion: {GROUP}/v1\nkind: Thing\nmetadata:\n  name: a\n"
    yield from YAML_WHOLE
    for scalar in _SCALARS:
        yield f"{head}spec:\n  any: {scalar}\n".encode()
        yield f"{head}spec:\n  any:\n    b: {scalar}\n  n: {scalar}\n".encode()
    for scalar in _SCALARS[:60]:
        yield head.replace("name: a", f"name: a\n  labels: {{x: {scalar}}}").encode()
    for levels, width in ((3, 3), (5, 5), (9, 9), (20, 2), (40, 2)):
        yield f"{head}spec:\n  any:\n    ".encode() + _laughs(levels, width)
    for levels in (100, 190):
        yield f"{head}spec:\n  any: ".encode() + arrays(levels)[:levels] + b"x" + arrays(levels)[levels:]
    yield f"{head}spec:\n  any: 1\n---\nkind: Other".encode()
    yield f"{head}spec:\n  any: 1\n  any: 2\n  unknown: 3\nspec: {{}}\n".encode()
    yield f"{head}  name: b\nspec: {{n: 1, n: 2, N: 3}}\n".encode()


_KINDLESS: Final = (b'{"kind":""}', b'{"kind":null}')
"""The reference's error quotes the whole object twice, including the fields that differ between the servers."""
_KIND_NO_TEXT: Final = (b'{"kind":{}}', b'{"apiVersion":[],"kind":1}')
"""The reference's error comes from a converter between Go types, which apiext does not have."""


def patches() -> Iterator[Step]:
    """Return invalid patches of each type."""
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
    for wrong in WRONG:
        yield Step("PATCH", ONE + DRY, b'[{"op":%b,"path":"/spec/n","value":1}]' % wrong, JSON_PATCH)
        yield Step("PATCH", ONE + DRY, b'[{"op":"add","path":%b,"value":1}]' % wrong, JSON_PATCH)
        yield Step("PATCH", ONE + DRY, b'[{"op":"copy","from":%b,"path":"/spec/s"}]' % wrong, JSON_PATCH)


def strategic() -> Iterator[Step]:
    """Return invalid strategic merge patches of a built-in kind."""
    for whole in (*WHOLE, *DUPLICATES[:12]):
        if whole not in _KIND_NO_TEXT:
            yield Step("PATCH", f"/api/v1/namespaces/default{DRY}", whole, STRATEGIC)


def delete_options() -> Iterator[Step]:
    """Return invalid DeleteOptions for an object that does not exist."""
    path = f"{PATH}/none"
    for whole in WHOLE:
        if b"1e400" not in whole:
            yield Step("DELETE", path, whole or b" ", JSON)
    for whole in YAML_WHOLE:
        yield Step("DELETE", path, whole or b" ", YAML)
    for name in ("gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy", "dryRun", "apiVersion", "kind", "other"):
        for wrong in (*WRONG[:-1], *NUMBERS[2:22]):
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
