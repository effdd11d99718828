"""The version in which a server writes the instances of a definition."""

from tests.support.builders.crds import widget_crd
from tests.support.event_loop import until
from tests.support.servers.in_process import CRDS, InProcess

ONE = f"{CRDS}/widgets.example.com"


async def test_reports_the_old_version_until_its_requests_have_finished(server: InProcess) -> None:
    """Report the old storage version after a flip while a request that began before it may still write."""
    crd = widget_crd()
    first = crd["spec"]["versions"][0]
    crd["spec"]["versions"] = [first, {**first, "name": "v2", "storage": False}]
    await server.define(crd)
    before = server.catalog.get("widgets.example.com")
    assert before is not None
    assert server.cache.encoding(before).version == "v1"

    running = server.cache.info(before)
    running.enter()
    flip = [{"op": "replace", "path": f"/spec/versions/{index}/storage", "value": bool(index)} for index in (0, 1)]
    assert (await server.ask("PATCH", ONE, flip, Content_Type="application/json-patch+json")).status == 200
    after = server.catalog.get("widgets.example.com")
    assert after is not None
    assert server.cache.encoding(after).version == "v1"
    assert server.cache.encoding(after).revision < after.revision

    running.leave()
    await until(lambda: server.cache.encoding(after).version == "v2")
    assert server.cache.encoding(after).revision == after.revision
