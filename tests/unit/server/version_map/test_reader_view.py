"""Tests of what one reader sees: names of objects only with the permission to list them."""

import json

from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, ReviewError, Verdict
from apiext.base.meta.gvk import GroupVersionResource
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.server.version_map.entries import DefinitionEntry, NamedPart
from apiext.server.version_map.reader_view import ReaderView

WIDGETS = GroupVersionResource("example.com", "v1", "widgets")
GADGETS = GroupVersionResource("example.com", "v1", "gadgets")
ENTRY = DefinitionEntry(
    {"name": "widgets.example.com"}, (NamedPart("problems", WIDGETS, ({"key": "a/b"},)), NamedPart("migrations", GADGETS, ({"name": "m"},)))
)


class _Authorizer:
    def __init__(self) -> None:
        self.asked: list[RequestInfo] = []

    async def __call__(self, user: UserInfo, info: RequestInfo) -> Verdict:
        self.asked.append(info)
        if user.name == "unlucky":
            raise ReviewError("the host does not answer")
        return ALLOWED if (user.name, info.verb, info.group, info.resource) == ("ann", "list", "example.com", "widgets") else NO_OPINION


async def test_shows_names_by_permission() -> None:
    """Ask the authorizer for the list of each resource once, and say whose names are hidden."""
    authorizer = _Authorizer()
    view = ReaderView(UserInfo("ann"), authorizer)
    names = await view.names(ENTRY)

    assert json.loads(ENTRY.encoded(names)) == {
        "name": "widgets.example.com",
        "names": {"problems": [{"key": "a/b"}]},
        "hidden": {"migrations": "gadgets.example.com"},
    }
    assert await view.names(ENTRY) == names
    assert [(info.path, info.is_resource) for info in authorizer.asked] == [
        ("/apis/example.com/v1/widgets", True),
        ("/apis/example.com/v1/gadgets", True),
    ]


async def test_another_user_is_asked_for_anew() -> None:
    """Decide for each user apart; an authorizer that fails allows nothing."""
    authorizer = _Authorizer()

    for name in ("bob", "unlucky"):
        assert await ReaderView(UserInfo(name), authorizer).names(ENTRY) == (False, False)
    assert len(authorizer.asked) == 4


def test_readers_with_the_same_rights_share_the_bytes() -> None:
    """Encode an entry once for each kind of rights; keep few kinds."""
    entry = DefinitionEntry({"name": "x"}, ENTRY.named + tuple(NamedPart(str(number), GADGETS, ({},)) for number in range(4)))
    kinds = [tuple(number >> bit & 1 == 1 for bit in range(6)) for number in range(6)]
    encoded = [entry.encoded(kind) for kind in kinds]

    assert [entry.encoded(kind) is before for kind, before in zip(kinds, encoded, strict=True)] == [True] * 4 + [False] * 2
    assert [entry.encoded(kind) for kind in kinds] == encoded
