"""Members of JSON documents."""

from dataclasses import dataclass

from apiext.tools.reports.members import members_of


@dataclass(frozen=True)
class _Part:
    is_exact: bool


@dataclass(frozen=True)
class _Whole:
    cost_share: float
    parts: tuple[_Part, ...]
    own: object = None


def test_fields_become_members() -> None:
    """Write fields in camel case and in their order, dataclasses as objects, and leave some out."""
    whole = _Whole(0.5, (_Part(is_exact=True),))

    assert list(members_of(whole).items()) == [("costShare", 0.5), ("parts", [{"exact": True}]), ("own", None)]
    assert members_of(whole, without="parts own") == {"costShare": 0.5}
