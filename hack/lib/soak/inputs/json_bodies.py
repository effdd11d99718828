"""JSON, CBOR and Protobuf bodies that are slow to parse or to check."""

import json
from functools import partial
from typing import Any, Final

from hack.lib.soak.attack import JSON, Attack
from hack.lib.soak.collection import API_VERSION, ATTACKED, CRDS, FORMATS, widget

_LIMIT: Final = 2_900_000
"""Bytes: a little less than the largest body that the reference reads."""


def _spec(text: str) -> bytes:
    return f'{{"apiVersion":"{API_VERSION}","kind":"Widget","metadata":{{"generateName":"hostile-"}},"spec":{text}}}'.encode()


def _post(attack: Attack, body: Any, *, query: str = "", path: str = ATTACKED) -> int:
    return attack.ask("POST", path + query, body, JSON)


def syntax_errors(attack: Attack) -> None:
    """Send an error at the end of long bodies, from 120 KB to 3 MB."""
    for length in (120_000, attack.size(_LIMIT, 500_000)):
        for part in ("1,", "[", '{"a":', '"a":1,', '"', "\\u0041", " ", "1", "[],", "\n"):
            text = (part * (length // len(part)))[:length]
            for body in (_spec(f'{{"any":{{"list":[{text}'), text.encode(), _spec(f'{{"payload":"{text}')):
                _post(attack, body)


def json_nesting(attack: Attack) -> None:
    """Nest lists and objects, closed and unclosed."""
    depth = attack.size(700_000, 50_000)
    for levels in (90, 500, 9_000, depth):
        _post(attack, _spec(f'{{"any":{"[" * levels}{"]" * levels}}}'))
        _post(attack, _spec('{"any":' + '{"a":' * levels + "1" + "}" * (levels + 1)))


def json_duplicates(attack: Attack) -> None:
    """Repeat one key, and send as many unknown fields as a body has, under each field validation."""
    count = attack.size(250_000, 20_000)
    equal = '{"any":{' + ",".join(['"a":1'] * count) + "}}"
    unknown = "{" + ",".join(f'"u{number}":1' for number in range(count // 2)) + "}"
    pairs = '{"any":{' + ",".join(f'"k{number}":1,"k{number}":2' for number in range(count // 4)) + "}}"
    for mode in ("Ignore", "Warn", "Strict"):
        for text in (equal, unknown, pairs):
            _post(attack, _spec(text), query=f"?dryRun=All&fieldValidation={mode}")


def json_width(attack: Attack) -> None:
    """Send wide objects and lists, long strings and long numbers."""
    count = attack.size(200_000, 20_000)
    for text in (
        '{"any":{' + ",".join(f'"k{number}":1' for number in range(count)) + "}}",
        '{"any":{"list":[' + ",".join(["{}"] * count) + "]}}",
        '{"payload":"' + "\\ud83d\\ude00" * (count // 2) + '"}',
        '{"payload":"' + "\\ud83d" * (count // 2) + '"}',
        '{"count":' + "1" * count + "}",
        '{"count":1e' + "9" * count + "}",
        '{"any":{"list":[' + ",".join(["1e400", "1.0000000000000001", "-0"] * (count // 20)) + "]}}",
        '{"any":"' + "\xff" * count + '"}',
    ):
        _post(attack, _spec(text).replace("\xff".encode(), b"\xff"), query="?dryRun=All")


def long_formats(attack: Attack) -> None:
    """Validate long strings of digits, letters and separators under every format."""
    length = attack.size(32_768, 8_192)
    texts = ["1" * length, "a" * length, "1h" * (length // 2), "1:" * (length // 2), "a." * (length // 2), "1 " * (length // 2) + "x"]
    texts += ["-" * length, "/" * length, "%41" * (length // 3), "é" * length, "a@" * (length // 2), "0" * length + "é", "1.1" * length]
    for text in texts:
        for names in [FORMATS] if attack.reduced else [[name] for name in FORMATS]:
            _post(attack, widget("formats", formats=dict.fromkeys(names, text)), query="?dryRun=All")


def many_errors(attack: Attack) -> None:
    """Break a rule at every item of long lists: each is an error with its value."""
    count = attack.size(100_000, 10_000)
    for spec in (
        {"numbers": [1] * count},
        {"numbers": ["x"] * count},
        {"set": ["same"] * count},
        {"set": [f"s{number}" for number in range(count)]},
        {"map": [{"name": "same"}] * (count // 4)},
        {"map": [{"name": f"n{number}"} for number in range(count // 2)]},
        {"name": "a-" * count},
        {"name": "1" + "a" * 20 * count},
        {"payload": ["x" * 10 * count]},
    ):
        _post(attack, widget("errors", **spec), query="?dryRun=All")


def bodies_of_other_types(attack: Attack) -> None:
    """Send deep and long CBOR and Protobuf, and bodies under wrong media types."""
    length = attack.size(_LIMIT, 100_000)
    bodies = {
        "application/cbor": [
            b"\xd9\xd9\xf7" + part * (length // len(part)) for part in (b"\x81", b"\xa1\x61a", b"\x9f", b"\x5f", b"\xc2\x41")
        ],
        "application/vnd.kubernetes.protobuf": [
            b"k8s\0" + part * (length // len(part)) for part in (b"\x0a\x7f", b"\xff", b"\x12\x80", b"\x0b")
        ],
        "application/json": [b"\0" * length, b"\xff" * length, "é".encode("utf-16") * (length // 4)],
        "application/yaml; charset=" + "x" * 7_000: [b"a: b\n" * (length // 5)],
    }
    for media_type, sent in bodies.items():
        for body in sent:
            for method, path in attack.some((("POST", ATTACKED), ("POST", CRDS), ("DELETE", f"{ATTACKED}/none"))):
                attack.ask(method, path, body, {"Content-Type": media_type})


def bodies_beside_each_other(attack: Attack) -> None:
    """Send large JSON bodies from several clients at once."""
    body = json.dumps(widget("large", any={"list": list(range(attack.size(400_000, 30_000)))})).encode()
    attack.together([partial(_post, attack, body, query="?dryRun=All")] * attack.size(16, 4), clients=16)


INPUTS: Final = (
    syntax_errors,
    json_nesting,
    json_duplicates,
    json_width,
    long_formats,
    many_errors,
    bodies_of_other_types,
    bodies_beside_each_other,
)
