"""Requests that mean harm: every answer equals the reference's, and nobody else waits long for theirs."""

import http.client
import random
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.differential.cases import hostile_bodies, hostile_definitions, hostile_values
from tests.differential.cases.definition_cases import PATH as DEFINITIONS
from tests.differential.cases.hostile_values import CRD, DRY, JSON, MERGE, ONE, PATH, YAML, arrays, body, objects
from tests.differential.helpers.pair import Pair, Side, Step, until
from tests.support.builders.seeds import seeded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

MUTATIONS: Final = 150
"""Bodies of each form that are spoilt at random."""
SEED: Final = "hostile"
PATIENCE: Final = 2.0
"""Seconds that a plain GET may take while hostile requests run, on a machine that others use too."""
GROWTH: Final = 400 << 10
"""KiB by which the server may grow meanwhile."""
_VOLATILE: Final = re.compile(rb'"(?:uid|creationTimestamp|resourceVersion)":"[^"]*",?')
_TRANSITION: Final = re.compile(rb'"lastTransitionTime":"[^"]*"')
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]')
_MANAGED: Final = b'"managedFields":['


@pytest.fixture(scope="module")
def hostile(pair: Pair) -> Iterator[Pair]:
    """The pair with the definition of the bodies, and one object."""
    with pair.served(CRD):
        for side in (pair.reference, pair.ours):
            side.raw(Step("POST", PATH, body(b'"n":1'), JSON))
        yield pair


@pytest.mark.parametrize("name", hostile_bodies.TABLES)
def test_bodies(hostile: Pair, name: str) -> None:
    """Every body of the table has the reference's answer."""
    found = [line[:2000] for step in hostile_bodies.TABLES[name]() for line in hostile.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


@pytest.mark.parametrize("name", hostile_definitions.TABLES)
def test_definitions(pair: Pair, name: str) -> None:
    """Every definition of the table is taken or refused as by the reference."""
    steps = (Step("POST", DEFINITIONS + DRY, crd) for crd in hostile_definitions.TABLES[name]())
    found = [line[:2000] for step in steps for line in pair.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


def _without_managers(data: bytes) -> bytes:
    """An object's JSON without what tells two servers apart."""
    while (start := data.find(_MANAGED)) >= 0:
        depth = 1
        for token in _BRACKETS.finditer(data, start + len(_MANAGED)):
            depth += (token[0] in b"[{") - (token[0] in b"]}")
            if not depth:
                data = data[:start] + data[token.end() :].removeprefix(b",")
                break
    return _VOLATILE.sub(b"", data)


def _raw_answer(side: Side, step: Step) -> tuple[int, str | None, bytes]:
    response, data = side.raw(step)
    return response.status, response.headers["Warning"], _without_managers(data)


def _deep_life(value: bytes, smaller: bytes) -> Iterator[Step]:
    path = f"{PATH}/deep"
    made = body(b'"any":' + value, b'"name":"deep"')
    yield Step("POST", PATH, made, JSON)
    yield Step("GET", path)
    yield Step("GET", PATH)
    yield Step("PATCH", path, b'{"spec":{"any":%b}}' % smaller, MERGE)
    yield Step("PATCH", path, b'[{"op":"test","path":"/spec/any","value":%b}]' % smaller, hostile_values.JSON_PATCH)
    yield Step("PATCH", path, b'[{"op":"replace","path":"/spec/any","value":%b}]' % value, hostile_values.JSON_PATCH)
    yield Step("POST", PATH + DRY, made.replace(b'"any"', b'"unknown"').replace(b'"deep"', b'"a2"'), JSON)
    yield Step("POST", PATH + DRY, made.replace(b'"any"', b'"s"').replace(b'"deep"', b'"a2"'), JSON)
    yield Step("POST", PATH + DRY, made.replace(b'"deep"', b'"a2"'), YAML)
    yield Step("DELETE", path, b'{"unknown":%b}' % value, JSON)


@pytest.mark.parametrize("levels", [100, 250, 254, 300, 1000, 3000])
@pytest.mark.parametrize("made", [arrays, objects], ids=["arrays", "objects"])
def test_deep(hostile: Pair, made: object, levels: int) -> None:
    """An object nested deeply is made, read, changed and removed as by the reference."""
    value, smaller = (arrays(levels), arrays(levels // 2)) if made is arrays else (objects(min(levels, 1000)), objects(levels // 4))
    for step in _deep_life(value, smaller):
        assert _raw_answer(hostile.ours, step) == _raw_answer(hostile.reference, step), str(step)[:200]


@pytest.mark.parametrize("levels", [9_998, 9_999, 10_000, 10_001, 100_000])
@pytest.mark.parametrize("headers", [JSON, YAML], ids=["JSON", "YAML"])
def test_deepest(hostile: Pair, levels: int, headers: dict[str, str]) -> None:
    """The last level that is read is the reference's."""
    step = Step("POST", PATH + DRY, body(b'"any":' + arrays(levels), b'"name":"deepest"'), headers)

    assert _raw_answer(hostile.ours, step) == _raw_answer(hostile.reference, step)


def _letters(answer: tuple[int, str | None, bytes]) -> tuple[int, str | None, list[int]]:
    """An answer whatever the order of members, for definitions that are too deep to be parsed."""
    status, warning, data = answer
    return status, warning, sorted(_TRANSITION.sub(b"", data).replace(b",", b""))


def _life_in_depth(group: str, crd: bytes, valid: bytes, wrong: bytes) -> Iterator[Step]:
    path, definition = f"/apis/{group}/v1/namespaces/default/things", f"{DEFINITIONS}/things.{group}"
    made = b'{"apiVersion":"%b/v1","kind":"Thing","metadata":{"name":"a"},"spec":%b}'
    yield Step("POST", DEFINITIONS + DRY, crd, YAML)
    yield Step("POST", PATH.replace(hostile_values.GROUP, group) + "?fieldValidation=Strict", made % (group.encode(), valid), JSON)
    yield Step("POST", path + DRY, made % (group.encode(), wrong), JSON)
    yield Step("POST", path + DRY, made % (group.encode(), b"{}"), JSON)
    yield Step("GET", f"{path}/a")
    yield Step("PATCH", f"{path}/a", b'{"metadata":{"labels":{"a":"b"}}}', MERGE)
    yield Step("GET", path)
    yield Step("PATCH", definition, b'{"metadata":{"labels":{"a":"b"}}}', MERGE)
    yield Step("DELETE", f"{path}/a")


@pytest.mark.parametrize("keyword", hostile_definitions.DEEP)
def test_a_definition_of_many_levels(pair: Pair, keyword: str) -> None:
    """It is taken, its objects are made, read and changed, and it is published, as by the reference."""
    group, crd, *specs = hostile_definitions.deep_definition(400, keyword)
    sides = (pair.reference, pair.ours)
    try:
        for side in sides:
            assert side.raw(Step("POST", DEFINITIONS, crd, JSON))[0].status == http.client.CREATED
            until(side, Step("GET", f"/apis/{group}/v1/things"), http.client.OK)
        for step in _life_in_depth(group, crd, *specs):
            ours, theirs = (_raw_answer(side, step) for side in (pair.ours, pair.reference))
            assert ours == theirs or (step.path.startswith(DEFINITIONS) and _letters(ours) == _letters(theirs)), str(step)[:200]
        for path in ("/openapi/v2", f"/openapi/v3/apis/{group}/v1"):
            assert pair.ours.raw(Step("GET", path))[0].status == http.client.OK
    finally:
        for side in sides:
            side.raw(Step("DELETE", f"{DEFINITIONS}/things.{group}"))


@pytest.mark.parametrize("source", ["/spec/any", "/spec"])
def test_a_patch_that_makes_an_object_too_deep(hostile: Pair, source: str) -> None:
    """One level too many is told otherwise than more of them."""
    operations = b'[{"op":"add","path":"/spec/any","value":%b},{"op":"copy","from":"%b","path":"/spec/any/0"}]'
    step = Step("PATCH", ONE + DRY, operations % (arrays(9998), source.encode()), hostile_values.JSON_PATCH)
    (theirs, told), (ours, said) = hostile.reference.raw(step), hostile.ours.raw(step)

    assert (ours.status, said[-180:]) == (theirs.status, told[-180:])


_VALID_JSON: Final = body(
    b'"n":12,"f":1.5e3,"s":"a\\u00e9\\n","b":true,"l":[1,2,-3],"any":{"a":null,"b":[{}]}', b'"name":"a","labels":{"x":"y"}'
)
_VALID_YAML: Final = b"\n".join(
    (
        *(
            f"apiVersion: {hostile_values.GROUP}/v1".encode(),
            b"kind: Thing",
            b"metadata:",
            b"  name: a",
            b"  labels: {x: 'y'}",
            b"spec:",
            b"  n: 12",
        ),
        *(b'  s: "a\\u00e9"', b"  b: yes", b"  l:", b"  - 1", b"  - -3", b"  any: {a: ~, b: [1.5, x]}", b""),
    )
)


def _spoilt(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 3)):
        at, size = rng.randrange(len(data)), rng.choice((0, 1, 1, 2, 5))
        new = rng.choice(
            (b"", bytes([rng.randrange(256)]), rng.choice(b'{}[]",:0e-+.\\ntf \n#&*!|').to_bytes(), data[at : at + rng.randint(1, 9)])
        )
        data = data[:at] + new + data[at + size :]
    return data


def test_spoilt_json(hostile: Pair) -> None:
    """Valid JSON with a few bytes changed at random has the reference's answer."""
    rng = seeded(SEED)
    found = [
        line
        for number in range(MUTATIONS)
        for line in hostile.differences(
            Step("POST", f"{PATH}{DRY}&fieldValidation={hostile_values.VALIDATIONS[number % 3]}", _spoilt(_VALID_JSON, rng), JSON)
        )
    ]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


def test_spoilt_yaml(hostile: Pair) -> None:
    """Valid YAML with a few bytes changed at random has the reference's code."""
    rng = seeded(SEED)
    found = []
    for _ in range(MUTATIONS):
        step = Step("POST", PATH + DRY, _spoilt(_VALID_YAML, rng), YAML)
        theirs, ours = hostile.reference.raw(step)[0].status, hostile.ours.raw(step)[0].status
        if theirs != ours:
            found.append(f"{step}: {theirs}, not {ours}")

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


def _filled(unit: bytes, size: int = 3 << 20) -> bytes:
    return b",".join([unit] * ((size - 1000) // (len(unit) + 1)))


_FLOODS: Final = {
    "brackets": (JSON, b"[" * (3 << 20)),
    "text": (JSON, body(b'"any":"%b"' % (b"x" * ((3 << 20) - 1000)))),
    "floats": (JSON, body(b'"any":[%b]' % _filled(b"1.0", 1 << 20))),
    "infinities": (JSON, body(b'"any":[%b]' % _filled(b"1e400", 1 << 20))),
    "bad bytes": (JSON, body(b'"any":[%b]' % _filled(b'"\xff"', 1 << 20))),
    "same key": (JSON, body(b'"any":{%b}' % _filled(b'"a":1', 1 << 20))),
    "same key far below": (JSON, body(b'"any":' + b'{"a":1,"a":' * 9000 + b"1" + b"}" * 9000)),
    "many keys": (JSON, body(b'"any":{%b}' % b",".join(b'"%d":1' % number for number in range(100_000)))),
    "deep and wide": (JSON, body(b'"any":' + b"[" * 2000 + _filled(b"[]", 200_000) + b"]" * 2000)),
    "aliases": (YAML, b"a: &a [1,1]\nb: [%b]" % _filled(b"*a")),
    "YAML": (YAML, b"a: [%b]" % _filled(b"1", 300_000)),
    "YAML brackets": (YAML, b"{a: " * 700_000),
}


def _memory(pid: int) -> int:
    """KiB that a process has in memory."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


@pytest.mark.parametrize("name", _FLOODS)
def test_nobody_waits(hostile: Pair, name: str) -> None:
    """While a flood is worked on, a plain GET is answered promptly, and the server does not grow without bound."""
    headers, data = _FLOODS[name]
    other = Side(hostile.ours.url, hostile.ours.context)
    before = _memory(hostile.pid)
    answered: list[int] = []
    flood = threading.Thread(target=lambda: answered.append(hostile.ours.raw(Step("POST", PATH + DRY, data, headers))[0].status))
    flood.start()
    waits, peak = [0.0], before
    while flood.is_alive():
        began = time.monotonic()
        assert other.raw(Step("GET", ONE))[0].status == http.client.OK
        waits.append(time.monotonic() - began)
        peak = max(peak, _memory(hostile.pid))
    flood.join()
    other.close()

    assert answered
    assert answered[0] < http.client.INTERNAL_SERVER_ERROR
    assert max(waits) < PATIENCE
    assert peak - before < GROWTH
