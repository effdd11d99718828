"""Heads of requests: media types, credentials, and invalid bytes."""

from functools import partial
from typing import Final

from hack.lib.soak.access import Access
from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import ATTACKED, KEPT

_FITS: Final = 60_000
"""Bytes of a header that a head can carry."""
_LARGE: Final = 900_000
_ODD: Final = (
    b"\xff",
    b"\xc3\x28",
    b"\x80" * 3_000,
    b"\x01",
    b"\x7f",
    b"\t",
    b"",
    b"%ff",
    b"\xed\xa0\x80",
    b"a" * _FITS,
    b"\xe2\x98\x83",
    b"a\x00b",
    b"'\"\\",
)


def _get(attack: Attack, *headers: bytes, path: str = f"{KEPT}/kept-0", access: Access | None = None, credentials: bool = True) -> int:
    head = b"\r\n".join([f"GET {path} HTTP/1.1".encode(), b"Host: localhost", b"Connection: close", *headers])
    return attack.send(head + b"\r\n\r\n", access, credentials=credentials)


def accept(attack: Attack) -> None:
    """Accept many media types, with many parameters, up to 900 KB; with and without credentials."""
    parts = (
        b"a/b,",
        b"application/json;as=Table;g=meta.k8s.io;v=v1;q=0.",
        b"*/*;q=0.1,",
        b";a=b",
        b",",
        b"application/json;q=1,",
        b'a/b;c="\\"",',
        b"/",
    )
    for length in (_FITS, attack.size(_LARGE, 200_000)):
        for part in attack.some(parts):
            text = (part * (length // len(part)))[:length]
            for path in (KEPT + "?limit=1", "/openapi/v2", "/openapi/v3", "/apis"):
                _get(attack, b"Accept: " + text, path=path)
            _get(attack, b"Accept: " + text, credentials=False)
    _get(attack, *[b"Accept: a/b"] * 5_000)


def content_types(attack: Attack) -> None:
    """Send bodies whose media type has many parameters or odd bytes."""
    for text in (
        "application/json" + ";a=b" * 14_000,
        "application/json;" + " " * _FITS,
        'a/b;c="' + "\\\\" * 20_000,
        "\xff" * 9_000,
        "a" * _FITS,
        "/" * 9_000,
    ):
        for method, path in (("POST", ATTACKED), ("PATCH", f"{KEPT}/kept-0"), ("PUT", f"{KEPT}/kept-0")):
            attack.ask(method, path, b"{}", {"Content-Type": text})


def proxied_users(attack: Attack) -> None:
    """Name users, groups and extra fields with odd bytes, or many of them, as a front proxy."""
    for odd in attack.some(_ODD):
        _get(attack, b"X-Remote-User: " + odd, access=attack.proxy)
        _get(attack, b"X-Remote-User: u", b"X-Remote-Group: " + odd, access=attack.proxy)
        _get(attack, b"X-Remote-User: u", b"X-Remote-Extra-a: " + odd, access=attack.proxy)
        _get(attack, b"X-Remote-User: u", b"X-Remote-Extra-%ff%00: " + odd, access=attack.proxy)
        _get(attack, b"X-Remote-User: u", b"X-Remote-Uid: " + odd, access=attack.proxy)
        _get(attack, b"X-Remote-User: u", b"X-Remote-Extra-" + odd + b": a", access=attack.proxy)
    _get(attack, b"X-Remote-User: u", *(b"X-Remote-Group: g%d" % number for number in range(2_000)), access=attack.proxy)
    _get(attack, b"X-Remote-User: u", *(b"X-Remote-Extra-k%d: v" % number for number in range(2_000)), access=attack.proxy)
    for number in range(attack.size(500, 30)):
        _get(attack, b"X-Remote-User: u%d" % number, access=attack.proxy)


def impersonated_users(attack: Attack) -> None:
    """Impersonate users and groups with odd bytes, or many of them."""
    for odd in attack.some(_ODD):
        for name in (b"User", b"Group", b"Uid", b"Extra-a", b"Extra-%ff"):
            _get(attack, b"Impersonate-User: u", b"Impersonate-" + name + b": " + odd)
        _get(attack, b"Impersonate-User: " + odd)
    _get(attack, b"Impersonate-User: u", *(b"Impersonate-Group: g%d" % number for number in range(2_000)))


def tokens(attack: Attack) -> None:
    """Send long, odd and many different bearer tokens without a certificate."""
    for odd in attack.some(_ODD):
        _get(attack, b"Authorization: Bearer " + odd, credentials=False)
        _get(attack, b"Authorization: " + odd, credentials=False)
        _get(attack, b"Authorization: Basic " + odd, credentials=False)
        _get(attack, b"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + odd, credentials=False)
    for text in (b"a." * 20_000, b"." * 50_000, b"eyJ" + b"A" * 50_000 + b".e30.x", b"Bearer " * 7_000):
        _get(attack, b"Authorization: Bearer " + text, credentials=False)
    calls = [
        partial(_get, attack, b"Authorization: Bearer t%d" % number + b"x" * 4_000, credentials=False)
        for number in range(attack.size(1_000, 30))
    ]
    attack.together(calls)


def other_headers(attack: Attack) -> None:
    """Send odd bytes in every header that a server reads."""
    names = (
        b"Origin",
        b"If-None-Match",
        b"If-Match",
        b"Range",
        b"Traceparent",
        b"Tracestate",
        b"X-Forwarded-For",
        b"User-Agent",
        b"Audit-ID",
        b"Cookie",
    )
    for name in (
        *names,
        b"Accept-Encoding",
        b"Host",
        b"Expect",
        b"Upgrade",
        b"Connection",
        b"Content-Length",
        b"Transfer-Encoding",
        b"Content-Encoding",
    ):
        for odd in attack.some(_ODD):
            _get(attack, name + b": " + odd)
    for line in (
        b": a",
        b"a",
        b" a: b",
        b"a\x00: b",
        b"\xff: a",
        b"a: b\r\n c",
        b"a" * 20_000 + b": b",
        b"Content-Length: 1\r\nContent-Length: 2",
    ):
        _get(attack, line)
    _get(attack, b"Accept-Encoding: " + b"gzip;q=0.1," * 5_000)
    _get(attack, b"Traceparent: 00-" + b"f" * 50_000)


def many_headers(attack: Attack) -> None:
    """Send many short headers, and heads up to 1 MB, with and without credentials."""
    for credentials in (True, False):
        for count in (100, 5_000, attack.size(100_000, 30_000)):
            _get(attack, *[b"a: b"] * count, credentials=credentials)
            _get(attack, *(b"X-%d: b" % number for number in range(count)), credentials=credentials)
        _get(attack, b"a: " + b"b" * _LARGE, credentials=credentials)


INPUTS: Final = (accept, content_types, proxied_users, impersonated_users, tokens, other_headers, many_headers)
