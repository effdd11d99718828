"""Lists of objects, page by page."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.adoption.object_pages import is_by_apiext, list_objects, resource
from apiext.operator.adoption.store_diff import StoredObject
from apiext.operator.api_clients import ApiClient, ApiError
from tests.support.builders.crds import versions_like, widget_crd


class Pages:
    """A server that gives one answer after the other, and keeps the requests."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, path: str, **_more: Any) -> tuple[int, bytes]:
        """Answer as WebhookClient does."""
        self.asked.append(path)
        code, found = self._answers.pop(0)
        return code, found if isinstance(found, bytes) else orjson.dumps(found)

    @property
    def api(self) -> ApiClient:
        """The client of this server."""
        api = ApiClient(Endpoint(url="http://host", context=None))
        api.client = self  # type: ignore[assignment]
        return api


def page(*names: str, token: str = "", revision: int = 7, remaining: int = 0) -> tuple[int, Any]:
    """Return a page of a list."""
    items = [{"apiVersion": "example.com/v1", "metadata": {"name": name}} for name in names]
    return 200, {"metadata": {"resourceVersion": str(revision), "continue": token, "remainingItemCount": remaining}, "items": items}


async def all_of(pages: Pages, **options: Any) -> list[StoredObject]:
    """Return the objects of a lister of these pages."""
    of = resource(widget_crd())
    assert of is not None
    return [one async for one in list_objects(pages.api, of, **options)]


async def test_reads_all_pages() -> None:
    """Read all pages, and report how many of how many objects were read."""
    reported: list[tuple[int, int]] = []
    pages = Pages(page("a", "b", token="x/y", remaining=1), page("c"))

    assert [one.key for one in await all_of(pages, progress=lambda *now: reported.append(now))] == ["a", "b", "c"]

    assert reported == [(2, 3), (3, 3)]
    assert pages.asked[0] == "/apis/example.com/v1/widgets?limit=100"
    assert pages.asked[1].endswith("&continue=x%2Fy") or pages.asked[1].endswith("&continue=x/y")


async def test_continues_after_compaction() -> None:
    """Continue at another revision, with the token of the 410."""
    gone = 410, {"kind": "Status", "code": 410, "metadata": {"continue": "later"}, "message": "too old"}
    pages = Pages(page("a", token="t"), gone, page("b"))

    assert [one.key for one in await all_of(pages)] == ["a", "b"]
    assert pages.asked[2].endswith("&continue=later")


async def test_reads_large_objects_in_small_pages() -> None:
    """Limit a page to some megabytes, by the size of the objects before."""
    big = page("a", "b", token="t")
    big[1]["items"][0]["spec"] = "x" * 8_000_000
    pages = Pages(big, page("c", token="u"), page("d"))
    await all_of(pages)

    assert [path.partition("limit=")[2].partition("&")[0] for path in pages.asked] == ["100", "1", "1000"]


async def test_retries_temporary_errors() -> None:
    """Repeat the request while a server starts to serve the resource."""
    pages = Pages((429, {"message": "storage is (re)initializing"}), (503, b""), page("a"))

    assert [one.key for one in await all_of(pages)] == ["a"]


@pytest.mark.parametrize("answer", [(403, {"message": "no"}), (200, b"no"), (200, [1]), (410, {"message": "no", "metadata": {}})])
async def test_raises_unusable_responses(answer: tuple[int, Any]) -> None:
    """Raise an error with the request for a response that is no list."""
    with pytest.raises(ApiError, match=r'GET "http://host/apis/example.com/v1/widgets\?limit=100": '):
        await all_of(Pages(answer))


async def test_rejects_lists_of_apiext() -> None:
    """Reject a list that apiext answered in place of the host."""
    with pytest.raises(ApiError, match="the objects in its own store cannot be read"):
        await all_of(Pages(page("a", revision=REVISION_BASE + 3)), below=REVISION_BASE)


@pytest.mark.parametrize(
    "change,expected",
    [
        (versions_like("v1", "v2"), "v1"),
        (versions_like("v1", "v2", v1={"served": False}), "v2"),
        (versions_like("v1", v1={"served": False}), None),
    ],
)
def test_prefers_the_storage_version(change: Callable[[Any], Any], expected: str | None) -> None:
    """List objects in the storage version, or else in another served version."""
    crd = widget_crd()
    crd["spec"]["versions"] = change(crd["spec"]["versions"][0])
    found = resource(crd)

    assert (found and found.version) == expected


@pytest.mark.parametrize(
    "scope, path",
    [
        ("Namespaced", "/apis/example.com/v1/namespaces/apiext-routing-probe/widgets?limit=1"),
        ("Cluster", "/apis/example.com/v1/widgets?limit=1&fieldSelector=metadata.name%3Dapiext-routing-probe"),
    ],
)
async def test_asks_for_no_objects_to_tell_who_answers(scope: str, path: str) -> None:
    """Tell by the resourceVersion of an empty list which server answers."""
    of = resource(widget_crd(scope=scope))
    assert of is not None
    pages = Pages(page(revision=REVISION_BASE - 1), page(revision=REVISION_BASE))

    assert [await is_by_apiext(pages.api, of) for _ in range(2)] == [False, True]

    assert pages.asked == [path] * 2
