"""Rules for names."""

import pytest

from apiext.base.meta import names

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
def test_accepts_subdomains(value: str) -> None:
    """Accept a DNS subdomain of at most 253 bytes."""
    assert names.dns1123_subdomain(value) == []


@pytest.mark.parametrize("value", ["", "A", "a_b", "-a", "a-", ".a", "a..b", "a\n", "é"])
def test_rejects_other_subdomains(value: str) -> None:
    """Reject everything else with the pattern."""
    assert names.dns1123_subdomain(value) == [SUBDOMAIN]


def test_rejects_long_subdomains() -> None:
    """Reject a name of more than 253 bytes with the limit."""
    assert names.dns1123_subdomain("a" * 254) == ["must be no more than 253 characters"]


@pytest.mark.parametrize(
    "value, problems",
    [("a-1", []), ("a.b", ["must not contain dots"]), ("A", [LABEL]), ("a" * 64, ["must be no more than 63 characters"])],
)
def test_labels_have_no_dots(value: str, problems: list[str]) -> None:
    """Reject dots in a label with a message of their own."""
    assert names.dns1123_label(value) == problems


@pytest.mark.parametrize("value", ["a", "A.b_c-d", "example.com/Name", "1/2"])
def test_accepts_qualified_names(value: str) -> None:
    """Accept a qualified name with and without a DNS prefix."""
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
def test_rejects_other_label_keys(value: str, problems: list[str]) -> None:
    """Report the error of the part that has it."""
    assert names.label_key(value) == problems


def test_label_values() -> None:
    """Accept an empty label value and reject more than 63 bytes."""
    assert names.label_value("") == names.label_value("a.b_c") == []
    assert names.label_value("x" * 64) == ["must be no more than 63 bytes"]
    assert names.label_value("é" * 32)[0] == "must be no more than 63 bytes"
    assert names.label_value("a b")[0].startswith("a valid label must be an empty string or consist of")


def test_path_segments() -> None:
    """Reject dots, slashes and percent signs in a name in a path; accept a dot as prefix."""
    assert names.path_segment("A b") == []
    assert names.path_segment("..") == ["may not be '..'"]
    assert names.path_segment("..", prefix=True) == []
    assert names.path_segment("a/b%") == ["may not contain '/'", "may not contain '%'"]


def test_prefix_of_a_name_may_end_with_a_dash() -> None:
    """Accept a dash at the end of generateName."""
    assert names.name_is_dns_subdomain("web-", prefix=True) == []
    assert names.name_is_dns_subdomain("web-") == [SUBDOMAIN]
    assert names.name_is_dns_label("a.b-", prefix=True) == ["must not contain dots"]


def test_generated_names() -> None:
    """Append five random characters and keep to 63 bytes."""
    assert len(names.generate_name("web-")) == 9
    assert len(names.generate_name("x" * 70)) == 63
    assert len({names.generate_name("x") for _ in range(50)}) > 1


@pytest.mark.parametrize(
    "key, count",
    [("a", 0), ("A_b-c.d", 0), (".a", 0), (".", 1), ("..", 1), ("..a", 1), ("a b", 1), ("", 1), ("x" * 253, 0), ("x" * 254, 1), ("é", 1)],
)
def test_keys_of_config_maps(key: str, count: int) -> None:
    """Accept letters, digits, dots, - and _, but no path to another folder."""
    assert len(names.config_map_key(key)) == count
