"""Query parameters that are long, nested or odd."""

import base64
import json
from functools import partial
from typing import Final

from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import ALL, ATTACKED, KEPT

_LONG: Final = 60_000
"""Bytes that a request line can carry."""
_NUMBERS: Final = (
    "-1",
    "1" * _LONG,
    "0" * _LONG,
    "1e9",
    "0x10",
    "%00",
    "%ff",
    "9223372036854775808",
    "18446744073709551615",
    "1" * 19,
    "",
    "+1",
    "\u0661",
    "1_0",
)


def _token(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def continue_tokens(attack: Attack) -> None:
    """Send tokens of nested brackets, long numbers, odd keys and bytes that are not Base64 or JSON."""
    start: dict[str, object] = {"v": "meta.k8s.io/v1", "rv": 1, "start": "default/kept-1\0"}
    odd: list[dict[str, object]] = [
        {"rv": -1},
        {"rv": 2**63},
        {"rv": 2**64},
        {"rv": 1e300},
        {"start": "../../x"},
        {"start": "a" * 30_000},
        {"start": "\ud800"},
        {"v": 1},
        {"rv": "1"},
    ]
    tokens = [_token(json.dumps(start | change).encode()) for change in odd]
    tokens += [_token(part * (40_000 // len(part))) for part in (b"[", b'{"a":', b"1", b'"', b"\xff", b"\0", b'{"rv":', b'{"v":[')]
    tokens += [
        _token(b'{"v":"meta.k8s.io/v1","rv":1,"start":' + b"[" * 40_000),
        _token(b'{"rv":' + b"1" * 40_000 + b"}"),
        "%",
        "é",
        "=" * _LONG,
        "A" * _LONG,
    ]
    for token in tokens:
        attack.ask("GET", f"{KEPT}?limit=2&continue={token}")
        attack.ask("GET", f"{ALL}?continue={token}")


def revisions(attack: Attack) -> None:
    """Read and watch at revisions with many digits, future revisions, and texts that are not a number."""
    forms = [f"{KEPT}/kept-0?timeout=500ms&resourceVersion={{}}", f"{KEPT}?limit=1&timeout=500ms&resourceVersion={{}}"]
    forms += [f"{forms[1]}&resourceVersionMatch=Exact", f"{forms[1]}&watch=true&timeoutSeconds=1"]
    odd = [
        f"{KEPT}?resourceVersionMatch={'x' * _LONG}&resourceVersion=1",
        f"{KEPT}?sendInitialEvents=true&watch=true&resourceVersionMatch=x",
    ]
    attack.together(
        [partial(attack.ask, "GET", path) for path in attack.some([*odd, *(form.format(number) for form in forms for number in _NUMBERS)])]
    )


def limits_and_times(attack: Attack) -> None:
    """Send numbers and durations with many digits or units."""
    durations = ["1h" * 20_000, "1" * _LONG + "s", "." * _LONG, "1." + "1" * _LONG + "s", "-1s", "1ns", "1e9s", "9999999h"]
    forms = ("limit={}&resourceVersion=0", "limit=1&timeout={}", "watch=true&timeout=1s&timeoutSeconds=1&limit={}")
    paths = [f"{KEPT}?{form.format(number)}" for number in (*_NUMBERS, *durations) for form in forms]
    attack.together([partial(attack.ask, "GET", path) for path in attack.some(paths)])


def options(attack: Attack) -> None:
    """Send long, repeated and unknown parameters, and options of deletions in query and body."""
    for query in (
        "&".join(["dryRun=All"] * 6_000),
        "a=b&" * 15_000,
        "&" * _LONG,
        "=" * _LONG,
        "%" * _LONG,
        "%ff" * 20_000,
        ";" * _LONG,
        f"fieldManager={'m' * _LONG}",
        f"fieldManager={'%e2%98%83' * 5_000}",
        f"fieldValidation={'x' * _LONG}",
        f"pretty={'1' * _LONG}",
        f"propagationPolicy={'x' * _LONG}&gracePeriodSeconds={'1' * 4_000}",
    ):
        for method in ("GET", "POST", "DELETE"):
            attack.ask(method, f"{ATTACKED}/none?{query}")
            attack.ask(method, f"{ATTACKED}?{query}")
    conditions = [{"resourceVersion": "1" * 1_000_000}, {"uid": "u" * 1_000_000}, {"uid": 1}, [], {"a": "b"}]
    bodies = [{"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": one} for one in conditions]
    bodies += [
        {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"] * 300_000},
        {"gracePeriodSeconds": 10**400},
        {"kind": "x" * 2_000_000},
    ]
    attack.together(
        [partial(attack.ask, "DELETE", path, body) for body in bodies for path in (f"{KEPT}/none", f"{ATTACKED}?dryRun=All")], 4
    )


def paths(attack: Attack) -> None:
    """Ask for documents with long and odd paths."""
    roots = (
        "/apis",
        "/openapi/v3",
        "/openapi/v2",
        "/healthz",
        "/livez",
        "/readyz",
        "/metrics",
        "/version",
        "/api",
        "/apis/apiextensions.k8s.io",
    )
    for root in attack.some(roots):
        for rest in ("/" + "x" * _LONG, "/" * 9_000, "/x" * 9_000, "?" + "verbose=" * 5_000, "/%ff%00", "?exclude=" + "x&exclude=" * 5_000):
            attack.ask("GET", root + rest)


INPUTS: Final = (continue_tokens, revisions, limits_and_times, options, paths)
