"""Values that replace secrets."""

from typing import Any

import pytest

from apiext.tools.recordings.redaction import Replacements


@pytest.mark.parametrize(
    "secret,schema,text",
    [
        ("x", {}, "redacted-1"),
        ("x", {"type": "string"}, "redacted-1"),
        ("x", {"type": "string", "format": "password"}, "redacted-1"),
        ("x", {"type": "string", "minLength": 12}, "redacted-1xx"),
        ("aB3-x", {"type": "string", "maxLength": 6}, "xX0-x"),
        ("ab-12", {"type": "string", "pattern": "^[a-z]{2}-[0-9]{2}$"}, "xx-00"),
        ("YWI=", {"type": "string", "format": "byte"}, "cmVkYWN0ZWQtMQ=="),
        ("http://a.b/c", {"type": "string", "format": "uri"}, "https://redacted-1.invalid"),
        ("1.2.3.4", {"type": "string", "format": "ipv4"}, "192.0.2.1"),
        ("2020-02-02T02:02:02Z", {"type": "string", "format": "date-time"}, "2001-01-01T00:00:00Z"),
        ("x", {"type": "string", "pattern": "^x$"}, "x"),
        ("a", {"type": "string", "enum": ["a", "b"]}, "a"),
        ("", {"type": "string"}, ""),
        ("q", {"type": "string", "pattern": "^(?:never|q)$"}, "redacted-1"),
    ],
)
def test_replaces_texts(secret: str, schema: dict[str, Any], text: str) -> None:
    """Return a text that the schema accepts, the clear one if that is not possible."""
    assert Replacements().text(secret, schema) == text


def test_numbers_secrets() -> None:
    """Give equal secrets of an object the same text, others another one, and begin anew with each object."""
    replacements = Replacements()
    assert [replacements.text(secret, {}) for secret in ("a", "b", "a")] == ["redacted-1", "redacted-2", "redacted-1"]
    replacements.start()
    assert replacements.text("b", {}) == "redacted-1"


@pytest.mark.parametrize(
    "number,schema,expected",
    [
        (7, {}, 0),
        (7, {"type": "integer", "minimum": 5}, 5),
        (7.5, {"type": "number", "minimum": 0, "exclusiveMinimum": True}, 1.0),
        (7, {"type": "integer", "enum": [7]}, 7),
    ],
)
def test_replaces_numbers(number: float, schema: dict[str, Any], expected: float) -> None:
    """Return 0 or a limit of the schema, in the same type."""
    found = Replacements().number(number, schema)

    assert (found, type(found)) == (expected, type(expected))
