"""Objects in temporary files."""

from contextlib import closing

from apiext.tools.releases.object_spool import ObjectSpool


def test_sorts_by_key() -> None:
    """Return the bytes of a collection in the order of their keys in UTF-8, the later one of two with a key."""
    with closing(ObjectSpool()) as spool:
        for key, data in (("b/x", b"1"), ("a-b/x", b"22"), ("a/x", b"3"), ("\U0001f600", b"4"), ("\uffff", b"5"), ("b/x", b"66")):
            spool.add("widgets", key, data)
        spool.add("other", "z", b"")

        assert list(spool.items("widgets")) == [("a-b/x", b"22"), ("a/x", b"3"), ("b/x", b"66"), ("\uffff", b"5"), ("\U0001f600", b"4")]
        assert spool.size("widgets") == (5, 7)
        assert spool.size("none") == (0, 0)
        assert spool.collections() == ["other", "widgets"]


def test_keeps_variants() -> None:
    """Return the variants of a key as they were added, and count the key once."""
    with closing(ObjectSpool()) as spool:
        for variant, data in (("v2", b"1"), ("v1", b"2"), ("v3", b"3"), ("v2", b"4")):
            spool.add("widgets", "a", data, variant)

        assert list(spool.items("widgets")) == [("a", b"2"), ("a", b"3"), ("a", b"4")]
        assert spool.size("widgets") == (1, 3)
