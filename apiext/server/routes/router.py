"""Routes requests by path.

Mirrors apiserver pkg/server/handler.go and pkg/server/routes.

SLIs: component-base metrics/prometheus/slis.

Zpages: apiserver pkg/server/statusz and flagz.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from aiohttp import hdrs, web

from apiext.api.endpoints.request import INFO, Handler, bound
from apiext.api.endpoints.responsewriters.cached_document import accepts_gzip
from apiext.api.endpoints.responsewriters.content_encoding import formatted
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.endpoints.serializers.negotiation import JSON, YAML, Convert, MediaType, Offers, check_route, negotiate
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.time import rfc3339
from apiext.server.routes.metrics_text import METRICS_TYPE
from apiext.server.routes.version import GIT_VERSION, MAJOR, MINOR, version_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from apiext.server.routes.healthz import HealthEndpoint
    from apiext.server.routes.process_role import MetricsSource

_TEXT: Final = "text/plain; charset=utf-8"


_NAME: Final = "apiserver"
_GROUP: Final = "config.k8s.io"
_VERSIONS: Final = ("v1beta1", "v1alpha1")
_PLAIN: Final = "text/plain"
_DELIMITERS: Final = (":", ": ", "=", " ")
_BEGUN: Final = time.time()
"""When the process began to serve, in seconds since 1970."""
_NO_DEBUGGING: Final = frozenset({"api", "apis", "openid", "openapi", ".well-known"})
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging "
    "purposes only.\n"
)


class ZPage(Protocol):
    """A page about the process."""

    kind: str

    def members(self) -> dict[str, object]:
        """Return the members of its object behind the metadata."""
        ...

    def text(self, delimiter: str) -> str:
        """Return its text behind the warning. `delimiter` follows names: it varies, so that no program reads the text."""
        ...


class Statusz:
    """Versions, age and paths of the process."""

    kind = "Statusz"

    def __init__(self, paths: Callable[[], Sequence[str]]) -> None:
        """Show the first segments of `paths`."""
        self._paths = paths

    def members(self) -> dict[str, object]:
        """Implement ZPage.members."""
        return {
            "startTime": rfc3339(datetime.fromtimestamp(_BEGUN, UTC)),
            "uptimeSeconds": _uptime(),
            "goVersion": version_info()["goVersion"],
            "binaryVersion": GIT_VERSION.removeprefix("v").partition("+")[0],
            "emulationVersion": f"{MAJOR}.{MINOR}",
            "paths": self._folders(),
        }

    def _folders(self) -> list[str]:
        segments = {path.split("/")[1] for path in self._paths()}
        return sorted(f"/{segment}" for segment in segments - _NO_DEBUGGING if segment)

    def text(self, delimiter: str) -> str:
        """Implement ZPage.text."""
        up, found = _uptime(), self.members()
        lines = {
            "Started": datetime.fromtimestamp(_BEGUN, UTC).strftime("%a %b %e %H:%M:%S UTC %Y"),
            "Up": f"{up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec",
            "Go version": found["goVersion"],
            "Binary version": found["binaryVersion"],
            "Emulation version": found["emulationVersion"],
            "Paths": " ".join(self._folders()),
        }
        return "\n" + "".join(f"{name}{delimiter} {value}\n" for name, value in lines.items())


def _uptime() -> int:
    return max(0, int(time.time() - _BEGUN))


class Flagz:
    """The flags of the process and their values; those that are not set are empty."""

    kind = "Flagz"

    def __init__(self, flags: Mapping[str, str]) -> None:
        self._flags = dict(sorted(flags.items()))

    def members(self) -> dict[str, object]:
        """Implement ZPage.members."""
        return {"flags": self._flags} if self._flags else {}

    def text(self, delimiter: str) -> str:
        """Implement ZPage.text."""
        return "".join(f"{name}{delimiter}{value}\n" for name, value in self._flags.items())


@dataclass(frozen=True, slots=True)
class _ZPageOffers(Offers):
    """Text, and objects of a kind of config.k8s.io."""

    kind: str = ""

    def allows(self, media_type: str, convert: Convert | None) -> bool:
        if media_type == _PLAIN:
            return convert is None
        return convert is not None and (convert.kind, convert.group) == (self.kind, _GROUP) and convert.version in _VERSIONS


class ZPageHandler:
    """Answers the path of a page."""

    def __init__(self, page: ZPage) -> None:
        self._page = page
        self._offers = _ZPageOffers(types=(JSON, YAML, _PLAIN), kind=page.kind)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the page as text, or as the object that the client asks for.

        Raises:
            StatusError: 406, it has no accepted form.
        """
        accept = request.headers.get("Accept", "").strip()
        media = negotiate(accept, self._offers) if accept else MediaType(_PLAIN)
        page, name = self._page, self._page.kind.lower()
        if media.convert is None:
            delimiter = random.choice(_DELIMITERS)  # noqa: S311 -- hides nothing
            return Reply(f"\n{_NAME} {name}\n{_WARNING}{page.text(delimiter)}".encode(), content_type=f"{_PLAIN}; charset=utf-8")
        version = media.convert.version
        head = {"kind": page.kind, "apiVersion": f"{_GROUP}/{version}", "metadata": {"name": _NAME}}
        data = formatted(json_codec.dumps({**head, **page.members()}, sort_keys=False), media)
        headers = {}
        if version != _VERSIONS[0]:
            headers["Warning"] = f'299 - "This version of the {name} endpoint is deprecated. Please use a newer version."'
        return Reply(data, content_type=f"{media.type};g={_GROUP};v={version};as={page.kind}", headers=headers)


class HealthMetrics:
    """Renders the last results of all checks, and how often each of them had which."""

    def __init__(self, health: Sequence[HealthEndpoint]) -> None:
        self._health = health

    async def text(self) -> bytes:
        """Return the metrics in the Prometheus text format."""
        # in a thread: the library takes long to import
        return await asyncio.to_thread(self._write)

    def _write(self) -> bytes:
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client.registry.Collector)."""
        from prometheus_client import PROCESS_COLLECTOR
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        results = GaugeMetricFamily(
            "kubernetes_healthcheck", "This metric records the result of a single healthcheck.", labels=("name", "type")
        )
        totals = CounterMetricFamily(
            "kubernetes_healthchecks", "This metric records the results of all healthcheck.", labels=("name", "status", "type")
        )
        for endpoint in self._health:
            # another request may add one meanwhile
            for (name, status), count in sorted(dict(endpoint.outcomes).items()):
                totals.add_metric((name, status, endpoint.name), count)
            for name, passed in sorted(dict(endpoint.results).items()):
                results.add_metric((name, endpoint.name), float(passed))
        yield results
        yield totals
        yield from (metric for metric in PROCESS_COLLECTOR.collect() if metric.name == "process_start_time_seconds")


class Router:
    """Passes resource requests to `resources`, and the others by path."""

    def __init__(
        self,
        *,
        resources: Handler,
        discovery: Handler,
        others: Mapping[str, Handler],
        health: Sequence[HealthEndpoint],
        metrics: MetricsSource,
        api_paths: Callable[[], Sequence[str]],
        flags: Mapping[str, str] | None = None,
        has_core: bool = True,
    ) -> None:
        """Create the router. `others` are handlers by the first segment of their paths; /flagz shows `flags`."""
        self._resources = bound(resources)
        self._health = health
        self._api_paths = api_paths
        self._metrics = metrics
        self._slis = HealthMetrics(health)
        self._no_core_prefix = "" if has_core else "/api/"
        """The path prefix of resources that this server does not have, empty if it has all."""
        self._exact: Mapping[str, Handler] = {
            "/": self._index,
            "/index.html": self._index,
            "/version": _version,
            "/version/": _version,
            "/metrics": self._write_metrics,
            "/metrics/slis": self._write_slis,
            "/statusz": ZPageHandler(Statusz(self._all_paths)),
            "/flagz": ZPageHandler(Flagz(flags or {})),
        }
        self._below: Mapping[str, Handler] = {
            "api": discovery if has_core else self._no_core,
            "apis": discovery,
            **others,
            "version": _below_version,
            **{endpoint.name: endpoint for endpoint in health},
        }

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the answer of the handler for the path, else 404 in plain text."""
        info = request[INFO]
        if info.is_resource and not (self._no_core_prefix and info.path.startswith(self._no_core_prefix)):
            handler = self._resources if info.path.startswith("/api") else _not_found
        else:
            path = request.path
            handler = self._exact.get(path) or self._below.get(path[1:].partition("/")[0], _not_found)
        return handler(request)

    async def _write_metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == hdrs.METH_DELETE:
            await self._metrics.reset()
            return Reply(b"metrics reset\n", content_type=_TEXT)
        return await _metrics_reply(request, await self._metrics.text())

    async def _write_slis(self, request: web.BaseRequest) -> web.StreamResponse:
        return await _metrics_reply(request, await self._slis.text())

    async def _index(self, _request: web.BaseRequest) -> web.StreamResponse:
        return _indented(self._paths())

    async def _no_core(self, _request: web.BaseRequest) -> web.StreamResponse:
        """Return the index with 404 for the core API, as aggregated servers do."""
        return _indented(self._paths(), status=404)

    def _paths(self) -> dict[str, list[str]]:
        return {"paths": self._all_paths()}

    def _all_paths(self) -> list[str]:
        own = ["/flagz", "/metrics", "/metrics/slis", "/statusz", "/version", "/openapi/v2", "/openapi/v3"]
        health = [path for endpoint in self._health for path in endpoint.paths]
        return sorted({*own, *health, *self._api_paths()})


async def _metrics_reply(request: web.BaseRequest, data: bytes) -> web.StreamResponse:
    headers = {}
    if accepts_gzip(request):
        data, headers = await asyncio.to_thread(gzip.compress, data, 6), {"Content-Encoding": "gzip"}
    return Reply(data, content_type=METRICS_TYPE, headers=headers)


async def _version(request: web.BaseRequest) -> web.StreamResponse:
    if request.method != hdrs.METH_GET:
        raise errors.StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    check_route(request, (JSON,))
    return _indented(version_info())


async def _below_version(_request: web.BaseRequest) -> web.StreamResponse:
    raise errors.path_not_found()


def _indented(content: object, *, status: int = 200) -> Reply:
    """Return indented JSON, as the reference does for endpoints without negotiation (responsewriters.WriteRawJSON)."""
    return Reply(json_codec.pretty(json_codec.dumps(content, sort_keys=False)), status=status)


async def _not_found(_request: web.BaseRequest) -> web.StreamResponse:
    return text_reply("404 page not found", status=404)
