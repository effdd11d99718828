"""Lists of another server, page by page."""

from typing import Any

import pytest

from apiext.base.webhook.client import WebhookError
from apiext.base.webhook.pager import Pager, PageSize

Json = dict[str, Any]


class Server:
    """Answers each request with the next page and records the requests."""

    def __init__(self, *answers: Json, size: int = 0) -> None:
        self._answers = list(answers)
        self._size = size
        self.paths: list[str] = []

    async def fetch(self, path: str) -> tuple[Json, int]:
        """Return the next answer."""
        self.paths.append(path)
        return self._answers.pop(0), self._size


def page(*names: str, token: str = "", revision: str = "5", remaining: int = 0) -> Json:
    """Return a page of a list."""
    return {
        "metadata": {"resourceVersion": revision, "continue": token, "remainingItemCount": remaining},
        "items": [{"metadata": {"name": name}} for name in names],
    }


def expired(token: str) -> Json:
    """Return the Status of an expired continue token."""
    return {"kind": "Status", "code": 410, "message": "expired", "metadata": {"continue": token}}


async def test_lists_all_pages() -> None:
    """Return the objects of all pages, and ask for each page with the token of the one before."""
    server = Server(page("a", token="x/="), page("b"))

    items, revision = await Pager(server.fetch, size=PageSize(first=1)).list("/objects?labelSelector=y")

    assert ([item["metadata"]["name"] for item in items], revision) == (["a", "b"], "5")
    assert server.paths == ["/objects?labelSelector=y&limit=1", "/objects?labelSelector=y&limit=1&continue=x/%3D"]


async def test_lists_an_empty_collection() -> None:
    """Yield one page without objects for a collection whose items are null."""
    server = Server({"metadata": {"resourceVersion": "7"}, "items": None})

    assert await Pager(server.fetch).list("/objects") == ([], "7")
    assert server.paths == ["/objects?limit=500"]


async def test_continues_after_an_expired_token() -> None:
    """Go on at a later revision with the token of the 410, if the caller allows it."""
    server = Server(page("a", token="t", remaining=1), expired("u"), page("b", revision="9"))

    pages = [page async for page in Pager(server.fetch, continue_expired=True).pages("/objects")]

    assert [(page.items[0]["metadata"]["name"], page.resource_version, page.remaining) for page in pages] == [("a", "5", 1), ("b", "9", 0)]
    assert server.paths[1:] == ["/objects?limit=500&continue=t", "/objects?limit=500&continue=u"]


@pytest.mark.parametrize("token,allowed", [("u", False), ("", True)])
async def test_fails_on_an_expired_token(token: str, *, allowed: bool) -> None:
    """Raise the 410 if the list may not go on, or the server does not say where."""
    server = Server(page("a", token="t"), expired(token))

    with pytest.raises(WebhookError, match="expired") as caught:
        await Pager(server.fetch, continue_expired=allowed).list("/objects")

    assert caught.value.code == 410


@pytest.mark.parametrize("size,limit", [(50, 40), (1, 100), (100_000, 1)])
async def test_adapts_the_page_size(size: int, limit: int) -> None:
    """Choose the next limit by the bytes of an object of the page before, within bounds."""
    server = Server(page("a", "b", token="t"), page("c"), size=size)

    await Pager(server.fetch, size=PageSize(first=2, max=100, target_bytes=1000)).list("/objects")

    assert server.paths[1] == f"/objects?limit={limit}&continue=t"
