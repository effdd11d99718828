"""Tests of hostile requests: refused alike, bounded memory, and service to other clients meanwhile."""

import http.client
import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.cases import hostile_bodies, hostile_definitions, hostile_values
from tests.differential.cases.definition_cases import PATH as DEFINITIONS
from tests.differential.cases.hostile_values import CRD, DRY, JSON, ONE, PATH, YAML, body
from tests.differential.helpers import refusals
from tests.support.builders.seeds import seeded

pytestmark = pytest.mark.slow

MUTATIONS: Final = 150
"""Number of randomly corrupted bodies of each format."""
SEED: Final = "hostile"
GROWTH: Final = 400 << 10
"""KiB by which the server may grow meanwhile."""


@pytest.fixture(scope="module")
def hostile(pair: Pair) -> Iterator[Pair]:
    """Create the definition of the bodies on both servers, with one object."""
    with pair.served(CRD):
        for side in (pair.reference, pair.ours):
            side.raw(Step("POST", PATH, body(b'"n":1'), JSON))
        yield pair


@pytest.mark.parametrize("name", hostile_bodies.TABLES)
def test_bodies(hostile: Pair, name: str) -> None:
    """Accept or refuse every body of the table alike."""
    found = refusals.differences(hostile, hostile_bodies.TABLES[name]())

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


@pytest.mark.parametrize("name", hostile_definitions.TABLES)
def test_definitions(pair: Pair, name: str) -> None:
    """Accept or refuse every definition of the table alike."""
    steps = (Step("POST", DEFINITIONS + DRY, crd) for crd in hostile_definitions.TABLES[name]())
    # numbers out of range are spelled otherwise in errors
    found = refusals.differences(pair, steps) if name == "bounds" else [line[:2000] for step in steps for line in pair.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


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


def _corrupted(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 3)):
        at, size = rng.randrange(len(data)), rng.choice((0, 1, 1, 2, 5))
        new = rng.choice(
            (b"", bytes([rng.randrange(256)]), rng.choice(b'{}[]",:0e-+.\\ntf \n#&*!|').to_bytes(), data[at : at + rng.randint(1, 9)])
        )
        data = data[:at] + new + data[at + size :]
    return data


def test_corrupted_json(hostile: Pair) -> None:
    """Accept or refuse alike valid JSON with a few bytes changed at random."""
    rng = seeded(SEED)
    modes = hostile_values.VALIDATIONS * (MUTATIONS // 3)
    found = refusals.differences(
        hostile, (Step("POST", f"{PATH}{DRY}&fieldValidation={mode}", _corrupted(_VALID_JSON, rng), JSON) for mode in modes)
    )

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


def test_corrupted_yaml(hostile: Pair) -> None:
    """Return equal codes for valid YAML with a few bytes changed at random."""
    rng = seeded(SEED)
    found = []
    for _ in range(MUTATIONS):
        step = Step("POST", PATH + DRY, _corrupted(_VALID_YAML, rng), YAML)
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
    "same key far below": (JSON, body(b'"any":' + b'{"a":1,"a":' * 190 + b"1" + b"}" * 190)),
    "many keys": (JSON, body(b'"any":{%b}' % b",".join(b'"%d":1' % number for number in range(100_000)))),
    "deep and wide": (JSON, body(b'"any":' + b"[" * 190 + _filled(b"[]", 200_000) + b"]" * 190)),
    "aliases": (YAML, b"a: &a [1,1]\nb: [%b]" % _filled(b"*a")),
    "YAML": (YAML, b"a: [%b]" % _filled(b"1", 300_000)),
    "YAML brackets": (YAML, b"{a: " * 700_000),
}


def _memory(pid: int) -> int:
    """Return the resident memory of a process in KiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


@pytest.mark.parametrize("name", _FLOODS)
def test_serves_others_during_a_flood(hostile: Pair, name: str) -> None:
    """Answer plain GETs while a large hostile body is processed, and bound the memory that it takes."""
    headers, data = _FLOODS[name]
    other = Side(hostile.ours.url, hostile.ours.context)
    before = _memory(hostile.pid)
    answered: list[int] = []
    flood = threading.Thread(target=lambda: answered.append(hostile.ours.raw(Step("POST", PATH + DRY, data, headers))[0].status))
    flood.start()
    peak = before
    while flood.is_alive():
        assert other.raw(Step("GET", ONE))[0].status == http.client.OK
        peak = max(peak, _memory(hostile.pid))
    flood.join()
    other.close()

    assert answered
    assert answered[0] < http.client.INTERNAL_SERVER_ERROR
    assert peak - before < GROWTH
