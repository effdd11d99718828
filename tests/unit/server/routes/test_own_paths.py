"""The paths below /apiext/."""

from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.request import Handler
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.server.routes.own_paths import OwnPaths


def _answering(text: str) -> Handler:
    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        return Reply(text.encode())

    return answer


async def test_routes_by_path() -> None:
    """Pass the page and the paths below it to the version map, reviews of held writes to their handler, all others to imports."""
    paths = OwnPaths(_answering("imports"), _answering("holds"), _answering("versions"))
    wanted = {
        "/apiext/versions": "versions",
        "/apiext/versions/data": "versions",
        "/apiext/versions/": "versions",
        "/apiext/versionss": "imports",
        "/apiext/import/a": "imports",
        "/apiext/hold-writes": "holds",
        "/apiext/hold-writes/": "imports",
        "/apiext/": "imports",
    }

    found = {}
    for path in wanted:
        answer = await paths(make_mocked_request("GET", path))
        assert isinstance(answer, Reply)
        found[path] = b"".join(answer.parts).decode()
    assert found == wanted
