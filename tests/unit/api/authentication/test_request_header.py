"""Users in front-proxy headers."""

from multidict import CIMultiDict

from apiext.api.authentication.request_header import FrontProxyUsers, RequestHeaders

HEADERS = RequestHeaders(
    username=("X-Remote-User", "X-User"),
    uid=("X-Remote-Uid",),
    group=("X-Remote-Group",),
    extra_prefixes=("X-Remote-Extra-",),
)


def test_reads_the_user() -> None:
    """Return name, uid, all groups, and extra by unescaped key."""
    headers = CIMultiDict(
        [
            ("x-remote-user", "ann"),
            ("X-Remote-Uid", "7"),
            ("X-Remote-Group", "a"),
            ("X-Remote-Group", ""),
            ("X-Remote-Group", "b"),
            ("X-Remote-Extra-Acme.com%2FProject", "one"),
            ("X-Remote-Extra-acme.com%2fproject", "two"),
        ]
    )

    user = HEADERS.user(headers)

    assert user is not None
    assert (user.name, user.uid, user.groups) == ("ann", "7", ("a", "b"))
    assert user.extra == {"acme.com/project": ("one", "two")}


def test_prefers_the_first_header() -> None:
    """Take the first header with a name; return no user without one."""
    second = HEADERS.user(CIMultiDict({"X-Remote-User": "", "X-User": "bob"}))

    assert second is not None
    assert second.name == "bob"
    assert HEADERS.user(CIMultiDict({"X-Remote-Group": "a"})) is None


def test_keeps_keys_with_invalid_escapes() -> None:
    """Unescape a key as a whole or not at all."""
    user = HEADERS.user(CIMultiDict({"X-Remote-User": "a", "X-Remote-Extra-a%2fb%zz": "c"}))

    assert user is not None
    assert user.extra == {"a%2fb%zz": ("c",)}


def _raw(headers: CIMultiDict[str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), text.encode()) for name, text in headers.items()]


def test_keeps_users() -> None:
    """Return the same authenticated user for equal headers of a user, whatever the others are, and another one for any other header."""
    users = FrontProxyUsers(HEADERS)
    ann = [("X-Remote-User", "ann"), ("X-Remote-Group", "a"), ("X-Remote-Extra-K", "v")]
    found = []
    for more in ((), (("Accept", "*/*"),), (("x-remote-group", "b"),), (("X-Remote-Extra-k", "w"),), (("X-Remote-Uid", "7"),)):
        headers = CIMultiDict([*ann, *more])
        found.append(users.user(headers, _raw(headers)))

    assert found[0] is found[1]
    assert [user and (user.groups, user.uid, user.extra) for user in found[1:]] == [
        (("a", "system:authenticated"), "", {"k": ("v",)}),
        (("a", "b", "system:authenticated"), "", {"k": ("v",)}),
        (("a", "system:authenticated"), "", {"k": ("v", "w")}),
        (("a", "system:authenticated"), "7", {"k": ("v",)}),
    ]


def test_bounds_the_kept_users() -> None:
    """Keep a limited number of users and header names, and none with very long headers; return each user all the same."""
    users = FrontProxyUsers(HEADERS)
    for number in range(3000):
        headers = CIMultiDict({"X-Remote-User": f"u{number}", f"X-Remote-Extra-{number}": "v"})
        user = users.user(headers, _raw(headers))
        assert user is not None
        assert (user.name, user.extra) == (f"u{number}", {str(number): ("v",)})
    assert users.count <= 1024
    long = CIMultiDict({"X-Remote-User": "u" * 1_000_000})

    assert users.user(long, _raw(long)) is not users.user(long, _raw(long))


def test_keeps_users_of_many_groups() -> None:
    """Keep users of 1,000 groups, but not many of them: their headers have a limit in common."""
    users, counts = FrontProxyUsers(HEADERS), []
    for number in range(100):
        groups = [("X-Remote-Group", f"group-{group}") for group in range(1000)]
        headers = CIMultiDict([("X-Remote-User", f"u{number}"), *groups])
        user = users.user(headers, _raw(headers))
        assert user is not None
        assert len(user.groups) == 1001
        assert users.user(headers, _raw(headers)) is user
        counts.append(users.count)

    assert 10 < max(counts) < 50
