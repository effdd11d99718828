"""Lists of a server, page by page."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apiext.meta.host_annotations import REVISION_BASE
from apiext.operator.adoption.object_pages import Collection, resource
from apiext.operator.adoption.store_diff import Held
from apiext.operator.api_clients import Api, ApiError
from apiext.webhook.kubeconfig import Endpoint
from tests.support.servers.in_process import definition, versions


class Pages:
    """Answers one request after the other, and keeps what was asked."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, path: str, **_more: Any) -> tuple[int, bytes]:
        """See WebhookClient."""
        self.asked.append(path)
        code, found = self._answers.pop(0)
        return code, found if isinstance(found, bytes) else orjson.dumps(found)

    @property
    def api(self) -> Api:
        """The server."""
        api = Api(Endpoint(url="http://host", context=None))
        api.client = self  # type: ignore[assignment]
        return api


def page(*names: str, token: str = "", revision: int = 7, remaining: int = 0) -> tuple[int, Any]:
    """A page of a list."""
    items = [{"apiVersion": "example.com/v1", "metadata": {"name": name}} for name in names]
    return 200, {"metadata": {"resourceVersion": str(revision), "continue": token, "remainingItemCount": remaining}, "items": items}


async def all_of(pages: Pages, **options: Any) -> list[Held]:
    """What a collection of these pages has."""
    of = resource(definition())
    assert of is not None
    return [one async for one in Collection(pages.api, of, **options).objects()]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apiext.operator.adoption.polling._PAUSE", 0.0)


async def test_pages() -> None:
    """Pages come one after the other, and it is told how many objects have come, of how many."""
    told: list[tuple[int, int]] = []
    pages = Pages(page("a", "b", token="x/y", remaining=1), page("c"))

    assert [one.key for one in await all_of(pages, progress=lambda *now: told.append(now))] == ["a", "b", "c"]

    assert told == [(2, 3), (3, 3)]
    assert pages.asked[0] == "/apis/example.com/v1/widgets?limit=100"
    assert pages.asked[1].endswith("&continue=x%2Fy") or pages.asked[1].endswith("&continue=x/y")


async def test_a_moment_that_has_been_compacted() -> None:
    """Where the moment of the list is gone, it goes on at another one, as the answer offers."""
    gone = 410, {"kind": "Status", "code": 410, "metadata": {"continue": "later"}, "message": "too old"}
    pages = Pages(page("a", token="t"), gone, page("b"))

    assert [one.key for one in await all_of(pages)] == ["a", "b"]
    assert pages.asked[2].endswith("&continue=later")


async def test_large_objects_come_in_small_pages() -> None:
    """A page has some megabytes, however large the objects are."""
    big = page("a", "b", token="t")
    big[1]["items"][0]["spec"] = "x" * 8_000_000
    pages = Pages(big, page("c", token="u"), page("d"))
    await all_of(pages)

    assert [path.partition("limit=")[2].partition("&")[0] for path in pages.asked] == ["100", "1", "1000"]


async def test_what_passes_is_waited_for() -> None:
    """A server that begins to serve the resource is asked again."""
    pages = Pages((429, {"message": "storage is (re)initializing"}), (503, b""), page("a"))

    assert [one.key for one in await all_of(pages)] == ["a"]


@pytest.mark.parametrize("answer", [(403, {"message": "no"}), (200, b"no"), (200, [1]), (410, {"message": "no", "metadata": {}})])
async def test_refusals(answer: tuple[int, Any]) -> None:
    """What cannot be used is told with what was asked."""
    with pytest.raises(ApiError, match=r'GET "http://host/apis/example.com/v1/widgets\?limit=100": '):
        await all_of(Pages(answer))


async def test_apiext_in_the_host_s_place() -> None:
    """A list that apiext has answered is not taken for the host's."""
    with pytest.raises(ApiError, match="what its own store has cannot be read"):
        await all_of(Pages(page("a", revision=REVISION_BASE + 3)), below=REVISION_BASE)


@pytest.mark.parametrize(
    "change,expected",
    [
        (versions("v1", "v2"), ("v1", "v1")),
        (versions("v1", "v2", v1={"served": False}), ("v2", "v1")),
        (versions("v1", v1={"served": False}), None),
    ],
)
def test_resources(change: Callable[[Any], Any], expected: tuple[str, str] | None) -> None:
    """Objects are listed in the version that is stored, else in another one that is served."""
    crd = definition()
    crd["spec"]["versions"] = change(crd["spec"]["versions"][0])
    found = resource(crd)

    assert (found and (found.version, found.stored)) == expected
