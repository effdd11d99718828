"""The pytest plugin: servers, CRDs and clients as fixtures, and suites as tests.

pytest imports this module in every run, so it imports the rest of the kit only when a test asks for a server.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kubernetes.client import ApiClient
    from kubernetes.dynamic import DynamicClient

    from apiext.tools.testkit.release import ReleaseReport
    from apiext.tools.testkit.server import Server
    from apiext.tools.testkit.webhook_place import WebhookPlace

_SCOPE: Final = "apiext_scope"
_FLAGS: Final = "apiext_flags"
_CRDS: Final = "apiext_crds"
_SCOPES: Final = ("session", "package", "module", "class", "function")
_SERVER: Final = "apiext_server"
_OWN: Final = frozenset({"advance", "apiext_own_server", "conversion_webhook"})
"""Fixtures that give a test a server of its own: after a release, it is of no use for other tests."""
_MARKERS: Final = (
    "crds(*paths): load the CRDs in files and folders, relative to the root of the tests, before the test",
    f"{_SERVER}(*flags): give the test a server of its own, with flags of apiext serve",
)
_SUITE: Final = ".testsuite.yaml"
"""As in tools/suites/collection.py, which is imported with the first suite."""
_VERBOSITY: Final = "--v=3"
"""The log has every request."""
_used: Final = pytest.StashKey["tuple[Server, int]"]()
"""The server of a test, and the length of its log before the test."""


class Load(Protocol):
    """Loads CRDs."""

    def __call__(self, *paths: str | Path) -> list[str]:
        """Create the CRDs in files and folders, or replace those with their names. Return the names once all are served."""


class Advance(Protocol):
    """Goes to another release."""

    def __call__(self, *paths: str | Path, migrate: bool = False) -> ReleaseReport:
        """Go to the release of the CRDs in files and folders, or back to it. See `apiext.tools.testkit.server.Server.advance`."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a suite: each case is a test. Each process of pytest starts one server for suites, with the first case."""
    if not file_path.name.endswith(_SUITE):
        return None
    from apiext.tools.testkit.suite_items import SuiteFile

    return SuiteFile.from_parent(parent, path=file_path)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the ini file."""
    parser.addini(_SCOPE, f"how long tests share an apiext server: {', '.join(_SCOPES)}", default=_SCOPES[0])
    parser.addini(_FLAGS, "flags of apiext serve for the servers of tests", type="args", default=[])
    parser.addini(_CRDS, "files and folders of CRDs that each apiext server gets", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let a marked test use a server, even if it names no fixture of this plugin."""
    names = getattr(item, "fixturenames", None)
    if names is not None and _SERVER not in names and (_has(item, "crds") or _has(item, _SERVER)):
        names.insert(0, _SERVER)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Attach the server's log to the report of a failed test."""
    report = (yield).get_result()
    used = item.stash.get(_used, None)
    if report.failed and used is not None:
        from apiext.tools.testkit.failure_log import shown_log

        server, begin = used
        if log := shown_log(server.log[begin:]):
            report.sections.append(("apiext server log", log))


def _scope(fixture_name: str, config: pytest.Config) -> Any:  # noqa: ARG001 -- pytest passes it by name
    scope = config.getini(_SCOPE)
    if scope not in _SCOPES:
        raise pytest.UsageError(f"{_SCOPE}: {scope!r} is not one of {', '.join(_SCOPES)}")
    return scope


@pytest.fixture(scope=_scope)
def apiext_shared_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return the server that tests share, in the scope of the ini option `apiext_scope`: for fixtures of that scope."""
    with _new_server(request.config, tmp_path_factory, ()) as server:
        yield server


@pytest.fixture
def apiext_own_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server of the test's own."""
    flags = [str(flag) for marker in request.node.iter_markers(_SERVER) for flag in marker.args]
    with _new_server(request.config, tmp_path_factory, flags) as server:
        yield server


@pytest.fixture
def apiext_server(request: pytest.FixtureRequest) -> Server:
    """Return the server of the test: its own one if it has the marker `apiext_server` or goes to another release, else the shared one."""
    is_own = _has(request.node, _SERVER) or not _OWN.isdisjoint(request.fixturenames)
    server: Server = request.getfixturevalue("apiext_own_server" if is_own else "apiext_shared_server")
    request.node.stash[_used] = server, len(server.log)
    # the marker next to the test counts most
    for marker in reversed(list(request.node.iter_markers("crds"))):
        server.load(*_absolute(request.config, marker.args))
    return server


@pytest.fixture
def crds(request: pytest.FixtureRequest, apiext_server: Server) -> Load:
    """Return a function that loads CRDs, and returns when the server serves them."""
    return lambda *paths: apiext_server.load(*_absolute(request.config, paths))


@pytest.fixture
def advance(request: pytest.FixtureRequest, apiext_server: Server) -> Advance:
    """Return a function that goes to another release of CRDs, and returns when the server serves it."""
    return lambda *paths, migrate=False: apiext_server.advance(*_absolute(request.config, paths), migrate=migrate)


@pytest.fixture
def conversion_webhook(apiext_server: Server) -> WebhookPlace:
    """Return the place where a conversion webhook of the test listens: host, port and certificate. CRDs loaded later call it there."""
    return apiext_server.conversion_webhook


@pytest.fixture
def kubeconfig(apiext_server: Server) -> Iterator[Path]:
    """Return the kubeconfig of the server's administrator, to which KUBECONFIG points during the test."""
    from apiext.tools.testkit.kubeconfig_environment import kubeconfig_environment

    with kubeconfig_environment(apiext_server.kubeconfig):
        yield apiext_server.kubeconfig


@pytest.fixture
def kube_client(apiext_server: Server) -> Iterator[ApiClient]:
    """Return a client of the package `kubernetes`."""
    client = apiext_server.client()
    yield client
    client.close()


@pytest.fixture
def dynamic_client(apiext_server: Server, kube_client: ApiClient) -> DynamicClient:
    """Return a client of the package `kubernetes` for every kind that the server has."""
    return apiext_server.dynamic_client(kube_client)


@pytest.fixture
def namespace(apiext_server: Server) -> Iterator[str]:
    """Return a new namespace, which the test has for itself."""
    from apiext.tools.testkit.kit_error import KitError

    name = apiext_server.create_namespace()
    yield name
    # the test may have deleted it, or ended the server
    with suppress(KitError):
        apiext_server.delete_namespace(name)


def _new_server(config: pytest.Config, folders: pytest.TempPathFactory, flags: list[str] | tuple[()]) -> Server:
    """Return a server that is not started yet."""
    from apiext.tools.testkit.server import Server

    paths = _absolute(config, config.getini(_CRDS))
    return Server(*paths, flags=[_VERBOSITY, *config.getini(_FLAGS), *flags], folder=folders.mktemp("apiext"))


def _absolute(config: pytest.Config, paths: Any) -> list[Path]:
    """Return paths that are relative to the root of the tests, wherever pytest was started."""
    return [config.rootpath / Path(path).expanduser() for path in paths]


def _has(node: Any, marker: str) -> bool:
    return node.get_closest_marker(marker) is not None
