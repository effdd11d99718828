"""The proxy of a URL, by the environment."""

import pytest
from yarl import URL

from apiext.base.webhook.proxy_environment import proxy_of

PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    "host, exceptions, used",
    [
        ("hook.example.com", "", True),
        ("localhost:8443", "", False),
        ("127.0.0.2", "", False),
        ("[::1]:8443", "", False),
        ("10.0.0.1", "10.0.0.0/8", False),
        ("10.0.0.1", "10.0.0.1:443", False),
        ("10.0.0.1", "10.0.0.1:444", True),
        ("[fd00::1]:444", "[fd00::1]:444", False),
        ("hook.example.com", "example.com", False),
        ("example.com", ".example.com", True),
        ("hook.example.com", "*.example.com:443", False),
        ("hook.example.com:444", "other, .example.com:443", True),
        ("myexample.com", "example.com", True),
        ("webhook.default.svc", ".svc,.cluster.local", False),
        ("10.0.0.1", "0.0.1", True),
        ("anything", "*", False),
        ("anything", ":443,not/a/network", True),
    ],
)
def test_exceptions(host: str, exceptions: str, used: bool) -> None:  # noqa: FBT001
    """Use the proxy for all but loopback addresses and the hosts of NO_PROXY."""
    found = proxy_of(URL(f"https://{host}/convert"), {"HTTPS_PROXY": PROXY, "no_proxy": exceptions})

    assert found == (URL(PROXY) if used else None)


def test_form_of_the_proxy() -> None:
    """Assume http for a proxy without a scheme; use none without the variable of the URL's scheme."""
    url = URL("https://hook.example.com")

    assert proxy_of(url, {"https_proxy": "proxy:80"}) == URL("http://proxy:80")
    assert proxy_of(url, {"HTTP_PROXY": PROXY, "HTTPS_PROXY": ""}) is None
    assert proxy_of(URL("http://hook.example.com"), {"HTTP_PROXY": PROXY}) == URL(PROXY)
    assert proxy_of(URL("http://hook.example.com"), {"HTTPS_PROXY": PROXY}) is None
