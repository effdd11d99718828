"""Configuration files."""

import re

import pytest

from apiext.base.meta.configuration import ConfigurationError, parse_configuration

SCHEMA = {
    "type": "object",
    "properties": {
        "rules": {"type": "array", "items": {"type": "object", "properties": {"level": {"enum": ["None", "Metadata"]}}}},
        "since": {"type": "string"},
    },
}


@pytest.mark.parametrize("text", [b'{"rules": [{"level": "None"}], "since": "2020-01-01"}', b"rules:\n- level: None\nsince: 2020-01-01\n"])
def test_reads_json_and_yaml(text: bytes) -> None:
    """Return the object of JSON and of YAML, with timestamps as strings."""
    assert parse_configuration(text, SCHEMA) == {"rules": [{"level": "None"}], "since": "2020-01-01"}


@pytest.mark.parametrize(
    "text,reason",
    [
        (b"rules:\n- level: x\n- level: y\n", "rules[0].level: 'x' is not one of ['None', 'Metadata']; rules[1].level: 'y' is not one of"),
        (b"rules: {password: x}", "rules: not of type array"),
        (b"", "not of type object"),
        (b"{", "invalid YAML: while parsing a flow node"),
    ],
)
def test_reports_path_and_reason(text: bytes, reason: str) -> None:
    """Name the path and the reason of each error in one line, without values of a wrong type."""
    with pytest.raises(ConfigurationError, match=f"^{re.escape(reason)}") as found:
        parse_configuration(text, SCHEMA)

    assert "\n" not in str(found.value)
    assert "password" not in str(found.value)


def test_an_equals_sign_is_a_text() -> None:
    """Read the text as go-yaml does: prometheus-operator's CRDs have it in an enum."""
    assert parse_configuration(b"since: =\n", SCHEMA) == {"since": "="}
