"""Addresses of Services in flags."""

import pytest

from apiext.base.webhook.host_addresses import parse_service_addresses


def test_parses_addresses() -> None:
    """Read one address a text; ignore empty lines and comments."""
    found = parse_service_addresses(["default/webhook=127.0.0.1:8443", " ", "# more", "a-b/c=[::1]:443", "x/y=host.example.com:1"])

    assert found == {("default", "webhook"): ("127.0.0.1", 8443), ("a-b", "c"): ("::1", 443), ("x", "y"): ("host.example.com", 1)}


@pytest.mark.parametrize("text", ["webhook=1.2.3.4:1", "a/b=host", "a/b=host:0", "a/b=host:65536", "A/b=host:1", "a/b=https://host:1"])
def test_rejects_malformed_texts(text: str) -> None:
    """Name the text that is no address."""
    with pytest.raises(ValueError, match="is not NAMESPACE/NAME=HOST:PORT"):
        parse_service_addresses([text])


def test_rejects_two_addresses_of_a_service() -> None:
    """Refuse a Service that has two addresses."""
    with pytest.raises(ValueError, match="a/b has two addresses"):
        parse_service_addresses(["a/b=host:1", "a/b=host:2"])
