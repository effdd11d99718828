"""Users in front-proxy headers."""

from multidict import CIMultiDict

from apiext.authentication.request_header import RequestHeaders

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
