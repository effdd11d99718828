"""URLs as Go reads and prints them."""

import re

import pytest

from apiext.meta.golang.url import parse_request_uri, parse_url


@pytest.mark.parametrize(
    "text",
    [
        "https://user:pass@example.com:80/path?query=val#fragment",
        "/absolute?x",
        "*",
        "mailto:a@b.c?subject=x",
        "http:/a",
        "http:///a",
        "http://h?",
        "http://[::1]:80/",
        "//host/path",
        "http://h/a%2Fb",
    ],
)
def test_prints_what_it_reads(text: str) -> None:
    """A URL in canonical form is printed as it was written."""
    assert str(parse_url(text)) == text


@pytest.mark.parametrize(
    "text, printed",
    [
        ("HTTP://Host/", "http://Host/"),
        ("http://h/é", "http://h/%C3%A9"),
        ("/a b", "/a%20b"),
        ("http://h#", "http://h"),
        ('/a#<"', "/a#%3C%22"),
    ],
)
def test_prints_escapes(text: str, printed: str) -> None:
    """What may not stand in a URL is escaped."""
    assert str(parse_url(text)) == printed


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty url"),
        ("../a", "invalid URI for request"),
        (":a", "missing protocol scheme"),
        ("http://h:80a/", 'invalid port ":80a" after host'),
        ("http://[::1", "missing ']' in host"),
        ("http://a[::1]/", "invalid IP-literal"),
        ("http://[1.2.3.4]/", "invalid IP-literal"),
        ("http://[a]/", 'invalid host: ParseAddr("a"): unable to parse IP'),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://a%20b/", 'invalid URL escape "%20"'),
        ("/%zz1", 'invalid URL escape "%zz"'),
        ("/a%4", 'invalid URL escape "%4"'),
        ("http://u er@h/", "net/url: invalid userinfo"),
        ("/\x01", "net/url: invalid control character in URL"),
    ],
)
def test_rejects_other_texts(text: str, message: str) -> None:
    """The error is Go's."""
    with pytest.raises(ValueError, match=re.escape(f": {message}") + "$"):
        parse_request_uri(text)


def test_splits_the_query() -> None:
    """Parameters keep their order, and those without a value count."""
    assert parse_url("/a?x=1&y=a+b%21&x=2&&e").query() == {"x": ["1", "2"], "y": ["a b!"], "e": [""]}


def test_splits_the_host() -> None:
    """The host has neither brackets nor port."""
    url = parse_url("http://[::1]:80/")

    assert (url.host, url.hostname, url.port) == ("[::1]:80", "::1", "80")
