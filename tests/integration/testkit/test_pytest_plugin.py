"""Tests of the pytest plugin, each in a run of pytest of its own."""

from collections.abc import Callable

import pytest

from tests.integration.testkit.conftest import InnerRun

Run = Callable[..., InnerRun]

HEAD = """
import os
from pathlib import Path

import pytest

seen = []


def route(name, version="v1alpha1"):
    return {"apiVersion": f"net.example.com/{version}", "kind": "Route", "metadata": {"name": name}, "spec": {"host": "a.example.com"}}

"""

SCOPES = """
@pytest.fixture(scope="module")
def of_the_module(apiext_shared_server):
    return apiext_shared_server


def test_one(apiext_server, of_the_module):
    assert apiext_server is of_the_module
    seen.append(apiext_server.pid)


def test_two(apiext_server):
    assert apiext_server.pid == seen[0]


@pytest.mark.apiext_server
def test_marked(apiext_server):
    assert apiext_server.pid != seen[0]


def test_own(apiext_own_server, apiext_server, kubeconfig):
    assert apiext_server is apiext_own_server
    assert apiext_server.pid != seen[0]
    assert kubeconfig == apiext_server.kubeconfig


@pytest.mark.apiext_server("--guard-stored-versions")
def test_flags(apiext_server):
    assert "--guard-stored-versions" in Path(f"/proc/{apiext_server.pid}/cmdline").read_text().split("\\0")
"""


def test_scopes_and_own_servers(inner_run: Run) -> None:
    """Share a server in a session; give a test its own one with a marker, with flags, or with a fixture."""
    run = inner_run(HEAD + SCOPES)

    assert run.counts == {"passed": 5}, run.output


INI = """
def test_one(apiext_server, dynamic_client):
    seen.append(apiext_server.pid)
    assert dynamic_client.resources.get(api_version="net.example.com/v1alpha1", kind="Route")


def test_two(apiext_server):
    assert apiext_server.pid != seen[0]
    assert "--event-ttl=2h" in Path(f"/proc/{apiext_server.pid}/cmdline").read_text().split("\\0")
"""


def test_options_of_the_ini_file(inner_run: Run) -> None:
    """Start a server for each test, with flags and CRDs of the ini file."""
    options = "apiext_scope = function\napiext_flags = --event-ttl=2h\napiext_crds = releases/1\n"

    run = inner_run(HEAD + INI, ini=options)

    assert run.counts == {"passed": 2}, run.output


def test_refuses_an_unknown_scope(inner_run: Run) -> None:
    """Name the scopes that exist."""
    run = inner_run(HEAD + INI, ini="apiext_scope = forever\n")

    assert "apiext_scope: 'forever' is not one of session, package, module, class, function" in run.output


MARKED = """
pytestmark = pytest.mark.crds("releases/1")


def test_client(kube_client, namespace, kubeconfig):
    from kubernetes import client, config

    assert os.environ["KUBECONFIG"] == str(kubeconfig)
    api = client.CustomObjectsApi(kube_client)
    api.create_namespaced_custom_object("net.example.com", "v1alpha1", namespace, "routes", route("a"))
    # a client that was imported before the test finds the server, too
    with config.new_client_from_config() as found:
        listed = client.CustomObjectsApi(found).list_namespaced_custom_object("net.example.com", "v1alpha1", namespace, "routes")
    assert [one["metadata"]["name"] for one in listed["items"]] == ["a"]


def test_namespace(dynamic_client, namespace):
    routes = dynamic_client.resources.get(api_version="net.example.com/v1alpha1", kind="Route")
    assert routes.get(namespace=namespace).items == []
    routes.create(body=route("a"), namespace=namespace)
    assert "KUBECONFIG" not in os.environ


def test_function(crds):
    assert crds("releases/1", Path("releases/1/routes.yaml")) == ["routes.net.example.com"] * 2


@pytest.mark.apiext_server()
@pytest.mark.crds("releases/2")
def test_nearest_marker():
    pass
"""


def test_crds_clients_and_namespaces(inner_run: Run) -> None:
    """Load CRDs by marker and by function; clients reach the server, and each test has a namespace for itself."""
    run = inner_run(HEAD + MARKED)

    assert run.counts == {"passed": 4}, run.output


ADVANCE = """
@pytest.mark.crds("releases/1")
def test_release(advance, dynamic_client, namespace, apiext_server):
    def routes(version):
        return dynamic_client.resources.get(api_version=f"net.example.com/{version}", kind="Route")

    name = "routes.net.example.com"
    routes("v1alpha1").create(body=route("old"), namespace=namespace)

    release = advance("releases/2")
    assert (release.verdict, release.rollback) == ("safe", "steps")
    assert release.steps[name] == ["Apply the new definition of routes.net.example.com"]
    assert release.stored_versions[name] == ["v1alpha1", "v1"]
    routes("v1").create(body=route("new", "v1"), namespace=namespace)
    assert apiext_server.stored_objects(name) == {"v1": 1, "v1alpha1": 1}

    release = advance("releases/2", migrate=True)
    assert (release.stored_versions[name], release.stored_objects[name]) == (["v1"], {"v1": 2})

    back = advance("releases/1")
    assert back.stored_versions[name] == ["v1alpha1"]
    assert back.stored_objects[name] == {"v1alpha1": 2}
    assert len(routes("v1alpha1").get(namespace=namespace).items) == 2

    assert advance("releases/2", migrate=True).verdict == "safe"
    last = advance("releases/3")
    assert last.verdict == "breaking"
    assert last.breaks == {name: ("v1alpha1: version v1alpha1 was removed",)}
    assert len(routes("v1").get(namespace=namespace).items) == 2


def test_new_definition(advance):
    assert advance("releases/1").steps == {"routes.net.example.com": ["Create routes.net.example.com"]}


async def _coroutine(advance):
    return advance("releases/1")


def test_in_an_event_loop(advance):
    import asyncio

    assert asyncio.run(_coroutine(advance)).verdict == "safe"
"""


def test_releases(inner_run: Run) -> None:
    """Go through releases and back on a server of the test's own; tell the steps and what is stored."""
    run = inner_run(HEAD + ADVANCE)

    assert run.counts == {"passed": 3}, run.output


FAILING = """
@pytest.mark.crds("releases/1")
def test_early(apiext_server):
    apiext_server.request("GET", "/apis/early.example.com")


@pytest.mark.crds("releases/1")
def test_late(apiext_server):
    with apiext_server.client() as client:
        client.call_api("/api/v1/namespaces/default", "GET", auth_settings=["BearerToken"])
    assert not "intended"


def test_refused(crds):
    Path("bad.yaml").write_text(Path("releases/1/routes.yaml").read_text().replace("type: object", "type: objekt"))
    crds("bad.yaml")


@pytest.mark.crds("nowhere")
def test_missing():
    pass


@pytest.mark.apiext_server("--no-such-flag")
def test_start():
    pass


@pytest.mark.crds("releases/2")
def test_conflict(advance, crds):
    crds("releases/1")
"""


def test_failures(inner_run: Run) -> None:
    """Attach the part of the server's log that belongs to a failed test; say why a server or a CRD is refused."""
    run = inner_run(HEAD + FAILING)

    assert run.counts == {"failed": 4, "error": 2}, run.output
    assert "audit_id" not in run.output
    late = run.output.partition("_ test_late _")[2].partition("_ test_refused _")[0]
    assert "apiext server log" in late
    assert "/api/v1/namespaces/default" in late
    assert "early.example.com" not in late
    for text in (
        'the server refuses routes.net.example.com: CustomResourceDefinition.apiextensions.k8s.io "routes.net.example.com" is invalid',
        "nowhere: No such file or directory",
        "the server does not start: apiext: No such option '--no-such-flag'",
        "the server refuses routes.net.example.com",
    ):
        assert text in run.output


XDIST = """
@pytest.mark.parametrize("number", range(4))
@pytest.mark.crds("releases/1")
def test_shared(number, apiext_server, worker_id):
    print(f"server of {worker_id}: {apiext_server.pid}")
    with pytest.raises(Exception, match="could not find"):
        apiext_server.request("GET", "/apis/nothing.example.com")
    assert not "shown"
"""


def test_workers_of_xdist(inner_run: Run) -> None:
    """Give each worker of pytest-xdist its own server; reports of workers have the log."""
    run = inner_run(HEAD + XDIST, "-p", "xdist.plugin", "-n", "2")

    assert run.counts == {"failed": 4}, run.output
    found = {line.rpartition(" server of ")[2] for line in run.output.splitlines() if line.startswith("server of ")}
    assert len({line.rpartition(": ")[2] for line in found}) == len({line.partition(":")[0] for line in found}) == 2
    assert run.output.count("apiext server log") == 4


@pytest.mark.parametrize("tests", ["def test_nothing():\n    pass\n"])
def test_costs_nothing_without_a_server(inner_run: Run, tests: str) -> None:
    """Import nothing but the plugin in a run that uses no server."""
    check = """
import sys


def test_imports():
    found = sorted(name for name in sys.modules if name.startswith("apiext"))
    assert found == ["apiext", "apiext.tools", "apiext.tools.testkit", "apiext.tools.testkit.pytest_plugin"]
    assert not {"aiohttp", "kubernetes", "yaml", "ssl", "asyncio"} & sys.modules.keys()
"""
    run = inner_run(tests + check)

    assert run.counts == {"passed": 2}, run.output
