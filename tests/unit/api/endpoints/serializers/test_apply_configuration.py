"""Bodies of server-side apply."""

from typing import Any

import pytest

from apiext.api.endpoints.serializers.apply_configuration import parse_configuration, parse_yaml
from apiext.base.meta.errors import StatusError
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork


@pytest.mark.parametrize(
    "body, parsed",
    [
        (b"", {}),
        (b"null", {}),
        (b'{"a": 1}', {"a": 1}),
        (b"a: 1\nb: [x]", {"a": 1, "b": ["x"]}),
        (b'{"a": "\\ud83d\\ude00"}', None),
        (b'{\t"a": 1}', {"a": 1}),
        (b'{"a": 9007199254740993}', {"a": 9007199254740993}),
        (b'{"a":1.0,"b": [1e3,-2.0,\n3E2],"c":1.5,"d":1e21,"e":-0.0}', {"a": 1, "b": [1000, -2, 300], "c": 1.5, "d": 1e21, "e": 0}),
        (b'{"a":"x: 1.0"}', {"a": "x: 1.0"}),
    ],
)
def test_parses(body: bytes, parsed: Any) -> None:
    """Parse YAML, and JSON as YAML reads it."""
    if parsed is None:
        with pytest.raises(StatusError):
            parse_configuration(body)
        return

    found, duplicates = parse_configuration(body)

    assert repr(found) == repr(parsed)
    assert duplicates == []


@pytest.mark.parametrize("body", [b'{"a": 1, "a": 2}', b"a: 1\na: 2"])
def test_reports_duplicates(body: bytes) -> None:
    """Take the last of duplicate keys, and report them."""
    parsed, duplicates = parse_configuration(body)

    assert parsed == {"a": 2}
    assert [message.strip().partition(": ")[2] for message in duplicates] == ['key "a" already set in map']


@pytest.mark.parametrize(
    "body, message",
    [
        (b"{", "error decoding patch: error converting YAML to JSON: yaml: line 1: did not find expected node content"),
        (b"a: b: c", "error encoding patch: yaml: mapping values are not allowed in this context"),
        (b"[]", "cannot unmarshal array into Go value of type map[string]interface {}"),
        (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", "the patch is nested deeper than"),
    ],
)
def test_refuses(body: bytes, message: str) -> None:
    """Refuse other bodies with the reference's message."""
    with pytest.raises(StatusError) as refused:
        parse_configuration(body)

    assert refused.value.code == 400
    assert message in refused.value.message


def test_large_yaml_is_heavy() -> None:
    """Leave large YAML to a worker process."""
    body = b"a: " + b"x" * 10_000
    with InlineWork(), pytest.raises(HeavyWorkError):
        parse_configuration(body)

    assert parse_configuration(body)[0] == {"a": "x" * 10_000}


def test_yaml_that_stands_for_much_is_heavy() -> None:
    """Leave small YAML with many aliases to a worker process."""
    body = b"a: &a [%b]\nb: [%b]" % (b",".join([b"x"] * 500), b",".join([b"*a"] * 50))
    with InlineWork(), pytest.raises(HeavyWorkError):
        parse_yaml(body)

    assert len(parse_yaml(body)[0]["b"]) == 50
