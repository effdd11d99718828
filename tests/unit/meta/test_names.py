"""Names are judged in the reference's words."""

from __future__ import annotations

import pytest

from apiext.meta import names

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
    "character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
    "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize("value", ["a", "a.b", "1-2.3", "a" * 253])
def test_valid_subdomains(value: str) -> None:
    """A DNS subdomain of at most 253 bytes is a name."""
    assert names.dns1123_subdomain(value) == []


@pytest.mark.parametrize("value", ["", "A", "a_b", "-a", "a-", ".a", "a..b", "a\n", "é"])
def test_invalid_subdomains(value: str) -> None:
    """Everything else is refused with the pattern."""
    assert names.dns1123_subdomain(value) == [SUBDOMAIN]


def test_long_subdomain() -> None:
    """Too long a name is said to have too many characters."""
    assert names.dns1123_subdomain("a" * 254) == ["must be no more than 253 characters"]


@pytest.mark.parametrize(
    "value, problems",
    [("a-1", []), ("a.b", ["must not contain dots"]), ("A", [LABEL]), ("a" * 64, ["must be no more than 63 characters"])],
)
def test_labels(value: str, problems: list[str]) -> None:
    """A label has no dots, and a name with dots is told so."""
    assert names.dns1123_label(value) == problems


@pytest.mark.parametrize("value", ["a", "A.b_c-d", "example.com/Name", "1/2"])
def test_valid_label_keys(value: str) -> None:
    """A qualified name has an optional DNS prefix."""
    assert names.label_key(value) == []


@pytest.mark.parametrize(
    "value, problems",
    [
        ("", ["name part must be non-empty", f"name part {KEY}"]),
        ("-", [f"name part {KEY}"]),
        ("/x", ["prefix part must be non-empty"]),
        ("x/", ["name part must be non-empty", f"name part {KEY}"]),
        ("A/x", [f"prefix part {SUBDOMAIN}"]),
        ("a" * 254 + "/x", ["prefix part must be no more than 253 bytes"]),
        ("x" * 64, ["name part must be no more than 63 bytes"]),
        ("a/b/c", [f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]),
    ],
)
def test_invalid_label_keys(value: str, problems: list[str]) -> None:
    """What is wrong is said of the part it is in."""
    assert names.label_key(value) == problems


def test_label_values() -> None:
    """A label value may be empty, and has at most 63 bytes."""
    assert names.label_value("") == names.label_value("a.b_c") == []
    assert names.label_value("x" * 64) == ["must be no more than 63 bytes"]
    assert names.label_value("é" * 32)[0] == "must be no more than 63 bytes"
    assert names.label_value("a b")[0].startswith("a valid label must be an empty string or consist of")


def test_path_segments() -> None:
    """A name in a path is no dot and has no slash and no percent sign; a prefix may be a dot."""
    assert names.path_segment("A b") == []
    assert names.path_segment("..") == ["may not be '..'"]
    assert names.path_segment("..", prefix=True) == []
    assert names.path_segment("a/b%") == ["may not contain '/'", "may not contain '%'"]


def test_prefix_of_a_name_may_end_with_a_dash() -> None:
    """What generateName ends with is followed by something."""
    assert names.name_is_dns_subdomain("web-", prefix=True) == []
    assert names.name_is_dns_subdomain("web-") == [SUBDOMAIN]
    assert names.name_is_dns_label("a.b-", prefix=True) == ["must not contain dots"]


def test_generated_names() -> None:
    """A generated name has five random characters and no more than 63 bytes."""
    assert len(names.generate_name("web-")) == 9
    assert len(names.generate_name("x" * 70)) == 63
    assert len({names.generate_name("x") for _ in range(50)}) > 1
