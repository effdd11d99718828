"""URLs as Go reads and prints them."""

import re

import pytest

from apiext.base.meta.golang.url import parse_request_uri, parse_url


@pytest.mark.parametrize(
    "text, path",
    [("HTTP://Host", ""), ("http://h/é", "/%C3%A9"), ("/a b?x", "/a%20b"), ("http://h/a%2Fb", "/a%2Fb"), ("pg://a:1,b:2/x", "/x")],
)
def test_reads_urls(text: str, path: str) -> None:
    """What may not stand in a path is escaped."""
    assert parse_request_uri(text).path == path


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty url"),
        ("../a", "invalid URI for request"),
        (":a", "missing protocol scheme"),
        ("1.2.3.4:443/a", "first path segment in URL cannot contain colon"),
        (" http://a", "first path segment in URL cannot contain colon"),
        ("http://h:80a/", 'invalid port ":80a" after host'),
        ("http://[::1", "Invalid IPv6 URL"),
        ("http://a[::1]/", 'invalid port ":1]" after host'),
        ("http://a#b", 'invalid character "#" in host name'),
        ("http://a b/", 'invalid character " " in host name'),
        ("/%zz1", 'invalid URL escape "%zz"'),
        ("http://h/a%4", 'invalid URL escape "%4"'),
        ("/\x01", "net/url: invalid control character in URL"),
    ],
)
def test_rejects_other_texts(text: str, message: str) -> None:
    """The error of a likely mistake is Go's."""
    with pytest.raises(ValueError, match=re.escape(f": {message}") + "$"):
        parse_request_uri(text)


@pytest.mark.parametrize("text", ["http://[1.2.3.4]/", "http://[a]/"])
def test_rejects_other_addresses(text: str) -> None:
    """Brackets hold an IPv6 address."""
    with pytest.raises(ValueError, match=re.escape(f'parse "{text}": ')):
        parse_request_uri(text)


def test_splits_the_query() -> None:
    """Parameters keep their order, and those without a value count."""
    assert parse_url("/a?x=1&y=a+b%21&x=2&&e").query() == {"x": ["1", "2"], "y": ["a b!"], "e": [""]}


def test_splits_the_host() -> None:
    """The host has neither brackets nor port."""
    url = parse_url("http://[::1]:80/")

    assert (url.host, url.hostname, url.port) == ("[::1]:80", "::1", "80")
