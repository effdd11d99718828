"""Health, version, metrics and index."""

import json
from collections.abc import Mapping

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext import __version__
from apiext.api.endpoints.request import INFO
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.filters.metrics import Labels, RequestStats, record
from apiext.api.filters.request_info import request_info
from apiext.api.flowcontrol.phase import Phase
from apiext.base.meta.errors import StatusError
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.request import MUTATING, READ_ONLY
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.base.workers.pool import WorkerPool
from apiext.server.routes.healthz import PING, CachedProbe, HealthCheck, HealthEndpoint, UnhealthyError
from apiext.server.routes.metrics import Metrics
from apiext.server.routes.router import Router


async def _broken() -> None:
    raise UnhealthyError("the store is down")


BROKEN = HealthCheck("store", _broken)


class _Wire:
    output_size = 0

    def __init__(self) -> None:
        self.data = b""

    async def write(self, data: bytes) -> None:
        self.data += data
        self.output_size += len(data)


class _Site:
    def __init__(self, *checks: HealthCheck, has_core: bool = True) -> None:
        self.stats = RequestStats()
        self.router = Router(
            resources=_named("resources"),
            discovery=_named("discovery"),
            others={name: _named(name) for name in ("openapi", "apiext", "stored")},
            health=[HealthEndpoint(name, [PING, *checks]) for name in ("healthz", "livez", "readyz")],
            metrics=Metrics(
                stats=self.stats,
                requests=lambda: {(Phase.EXECUTING, READ_ONLY): 2, (Phase.WAITING, MUTATING): 3},
                objects=_objects,
                stored=_stored,
                workers=WorkerPool(),
                certificates=lambda: {"ca": 7.0},
            ),
            api_paths=lambda: ["/apis", "/apis/example.com"],
            flags={"crd-dir": "/x"},
            has_core=has_core,
        )

    async def get(self, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> tuple[int, str]:
        wire = _Wire()
        request = make_mocked_request(method, path, headers=headers, writer=wire)
        request[INFO] = request_info(request)
        response = await self.router(request)
        await response.prepare(request)
        head, _, body = wire.data.decode("latin-1").partition("\r\n\r\n")
        self.head = head
        return response.status, body


def _named(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        return Reply(name.encode(), content_type="text/plain")

    return handler


async def _objects() -> Mapping[GroupResource, int]:
    return {GroupResource("g", "ws"): 3}


def _stored() -> Mapping[tuple[GroupResource, str], int]:
    return {(GroupResource("g", "ws"), "v1"): 2}


@pytest.mark.parametrize(
    "path, status, body",
    [
        ("/healthz", 200, "ok"),
        ("/healthz?verbose", 200, "[+]ping ok\n[+]other ok\nhealthz check passed\n"),
        ("/livez?verbose=1&exclude=ping", 200, "[+]ping excluded: ok\n[+]other ok\nlivez check passed\n"),
        (
            "/readyz?verbose&exclude=x&exclude=a",
            200,
            '[+]ping ok\n[+]other ok\nwarn: some health checks cannot be excluded: no matches for "a","x"\nreadyz check passed\n',
        ),
        ("/healthz/ping", 200, "ok"),
        ("/healthz/nope", 404, "404 page not found\n"),
        ("/healthzz", 404, "404 page not found\n"),
    ],
)
async def test_reports_health(path: str, status: int, body: str) -> None:
    """Report passing checks with the reference's texts."""
    assert await _Site(HealthCheck("other", PING.probe)).get(path) == (status, body)


async def test_counts_results_of_health_checks() -> None:
    """Show the last result of each check and how often it had which, once all were run; a single check does not count."""

    async def probe() -> None:
        if failing:
            raise UnhealthyError("down")

    site, failing = _Site(HealthCheck("other", probe)), True
    await site.get("/livez/other")
    await site.get("/livez?exclude=ping")
    failing = False
    await site.get("/livez")
    status, text = await site.get("/metrics/slis")

    assert status == 200
    assert [line for line in text.splitlines() if line.startswith("kubernetes_")] == [
        'kubernetes_healthcheck{name="other",type="livez"} 1.0',
        'kubernetes_healthcheck{name="ping",type="livez"} 1.0',
        'kubernetes_healthchecks_total{name="other",status="error",type="livez"} 1.0',
        'kubernetes_healthchecks_total{name="other",status="success",type="livez"} 1.0',
        'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1.0',
    ]
    assert "\nprocess_start_time_seconds " in text
    assert 'kubernetes_healthchecks_total{name="other",status="error",type="livez"} 1.0' in (await site.get("/metrics/slis"))[1]


@pytest.mark.parametrize("version, deprecated", [("v1beta1", False), ("v1alpha1", True)])
async def test_pages_about_the_process(version: str, deprecated: bool) -> None:  # noqa: FBT001
    """Show the process and its flags as text and as objects."""
    site = _Site()
    texts = [(await site.get(path))[1].split("\n") for path in ("/statusz", "/flagz")]
    objects = []
    for path, kind in (("/statusz", "Statusz"), ("/flagz", "Flagz")):
        status, body = await site.get(path, headers={"Accept": f"application/json;as={kind};v={version};g=config.k8s.io"})
        objects.append((status, json.loads(body), "Warning: 299" in site.head))

    assert [lines[1] for lines in texts] == ["apiserver statusz", "apiserver flagz"]
    assert texts[1][3:] in ([f"crd-dir{delimiter}/x", ""] for delimiter in (":", ": ", "=", " "))
    (status, statusz, warned), flagz = objects
    assert (status, warned) == (200, deprecated)
    assert statusz["paths"] == ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"]
    head = {"kind": "Flagz", "apiVersion": f"config.k8s.io/{version}", "metadata": {"name": "apiserver"}}
    assert flagz == (200, {**head, "flags": {"crd-dir": "/x"}}, deprecated)
    with pytest.raises(StatusError, match="application/json, application/yaml, text/plain"):
        await site.get("/statusz", headers={"Accept": "application/json"})


async def test_shows_remarks() -> None:
    """Show the first remark of a passing check in verbose output, with the path of the check, which shows all."""
    site = _Site(HealthCheck("host", PING.probe, lambda: ["not reached", "why"]))

    assert await site.get("/readyz") == (200, "ok")
    assert await site.get("/readyz?verbose") == (200, "[+]ping ok\n[+]host ok: not reached (more: /readyz/host)\nreadyz check passed\n")
    assert await site.get("/readyz/host") == (200, "ok\nnot reached\nwhy")


@pytest.mark.parametrize(
    "path, status, body",
    [
        ("/readyz", 500, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n"),
        ("/readyz?exclude=store", 200, "ok"),
        ("/readyz/store", 500, "internal server error: the store is down\n"),
        ("/readyz/ping", 200, "ok"),
    ],
)
async def test_reports_failing_checks(path: str, status: int, body: str) -> None:
    """Fail the endpoint without the reason of a failing check, and show it on the path of the check."""
    assert await _Site(BROKEN).get(path) == (status, body)


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/v1", "/api/v1/namespaces", "/api/v1/namespaces/n/events/e"])
async def test_serves_no_core_behind_a_host(path: str) -> None:
    """Return the index with 404 below /api behind a kube-apiserver."""
    site = _Site(has_core=False)
    status, body = await site.get(path)

    assert (status, body) == (404, (await site.get("/"))[1])
    assert await site.get("/apis") == (200, "discovery")
    assert await site.get("/apis/example.com/v1/widgets") == (200, "resources")


@pytest.mark.parametrize(
    "method, path, accept, code",
    [
        ("POST", "/version", "*/*", 405),
        ("HEAD", "/version", "*/*", 405),
        ("GET", "/version/x", "*/*", 404),
        ("GET", "/version", "text/html", 406),
        ("GET", "/version", "text/html, application/json;q=0.1", 200),
    ],
)
async def test_restricts_version(method: str, path: str, accept: str, code: int) -> None:
    """Serve the version for GET and JSON only, and nothing below it."""
    request = make_mocked_request(method, path, headers={"Accept": accept})
    request[INFO] = request_info(request)
    try:
        found = (await _Site().router(request)).status
    except StatusError as error:
        found = error.code

    assert found == code


async def test_returns_the_version() -> None:
    """Return the Kubernetes version as the value of a label, and apiext's version besides."""
    status, body = await _Site().get("/version")

    info = json.loads(body)
    assert (status, info["major"], info["minor"]) == (200, "1", "37")
    assert (info["gitVersion"], info["gitTreeState"]) == ("v1.37.1", f"apiext-{__version__}")
    for text in (info["gitVersion"], info["gitTreeState"]):
        parse_label_selector(f"version={text}")


async def test_lists_paths() -> None:
    """List all paths at the root."""
    paths = json.loads((await _Site(BROKEN).get("/"))[1])["paths"]

    assert paths == sorted(paths)
    assert {"/apis/example.com", "/healthz/store", "/metrics", "/openapi/v3", "/version"} <= set(paths)


@pytest.mark.parametrize(
    "path, answer",
    [
        ("/apis/g/v1/ws", "resources"),
        ("/apis/g/v1", "discovery"),
        ("/api", "discovery"),
        ("/openapi/v3/apis/g/v1", "openapi"),
        ("/nothing", "404 page not found\n"),
        ("/apisx", "404 page not found\n"),
    ],
)
async def test_routes_requests(path: str, answer: str) -> None:
    """Pass resources, discovery and OpenAPI to their handlers; return 404 for other paths."""
    assert (await _Site().get(path))[1] == answer


async def test_renders_metrics() -> None:
    """Render requests, current requests and stored objects with the reference's names."""
    site = _Site()
    series = site.stats.find(Labels("WATCH", "g", "v1", "ws", "", "cluster"))
    series.running = 2
    record(series, 200, 0.03)
    record(series, 200, 100.0)

    status, body = await site.get("/metrics")

    labels = 'component="apiserver",dry_run="",group="g",resource="ws",scope="cluster",subresource="",verb="WATCH",version="v1"'
    lines = {_sorted(line) for line in body.splitlines()}
    assert status == 200
    assert _sorted(f'apiserver_request_total{{code="200",{labels}}} 2.0') in lines
    assert _sorted(f'apiserver_request_duration_seconds_bucket{{le="0.05",{labels}}} 1.0') in lines
    assert _sorted(f'apiserver_request_duration_seconds_bucket{{le="+Inf",{labels}}} 2.0') in lines
    assert 'apiserver_resource_objects{group="g",resource="ws"} 3.0' in body
    assert 'apiext_stored_objects{group="g",resource="ws",version="v1"} 2.0' in body
    assert 'apiserver_current_inflight_requests{request_kind="readOnly"} 2.0' in body
    assert 'apiserver_current_inqueue_requests{request_kind="mutating"} 3.0' in body
    assert "process_resident_memory_bytes" in body
    assert any(line.startswith("apiserver_longrunning_requests") and line.endswith("2.0") for line in body.splitlines())


async def test_renders_certificate_expirations() -> None:
    """Render the remaining validity of client certificates, and the expirations of serving certificates."""
    site = _Site()
    for left in (-1.0, 1800.0, 1801.0, 1e9):
        site.stats.certificates.observe(left)

    lines = (await site.get("/metrics"))[1].splitlines()

    name = "apiserver_client_certificate_expiration_seconds"
    bounds = {bound: f'{name}_bucket{{le="{bound}"}} {count}' in lines for bound, count in (("0", "1.0"), ("1800", "2.0"), ("3600", "3.0"))}
    assert bounds == {"0": True, "1800": True, "3600": True}
    assert {f'{name}_bucket{{le="3.1104e+07"}} 3.0', f'{name}_bucket{{le="+Inf"}} 4.0', f"{name}_count 4.0"} <= set(lines)
    assert 'apiext_serving_certificate_expiration_timestamp_seconds{certificate="ca"} 7.0' in lines
    assert [line for line in lines if line.startswith("apiext_worker")] == [
        "apiext_worker_running 0.0",
        "apiext_worker_queued 0.0",
        "apiext_worker_killed_total 0.0",
    ]


async def test_resets_metrics() -> None:
    """Reset the counters of finished requests, but not of current ones."""
    site = _Site()
    record(site.stats.find(Labels("GET", "g", "v1", "ws", "", "cluster")), 200, 0.03)
    site.stats.find(Labels("WATCH", "g", "v1", "ws", "", "cluster")).running = 2

    answer = await site.get("/metrics", method="DELETE")
    _, body = await site.get("/metrics")

    assert answer == (200, "metrics reset\n")
    assert 'verb="GET"' not in body
    assert any(line.startswith("apiserver_longrunning_requests") and line.endswith("2.0") for line in body.splitlines())


async def test_compresses_metrics() -> None:
    """Compress metrics of any size for clients that accept gzip, as Prometheus does."""
    site = _Site()

    await site.get("/metrics", headers={"Accept-Encoding": "gzip"})

    assert "Content-Encoding: gzip" in site.head


def _sorted(line: str) -> str:
    """Return a sample with sorted labels."""
    name, brace, rest = line.partition("{")
    labels, _, value = rest.rpartition("}")
    return f"{name}{brace}{','.join(sorted(labels.split(',')))}{value}"


async def test_caches_probes() -> None:
    """Repeat the result of a probe until it expires."""
    outcomes = [True, False, True]

    async def probe() -> None:
        if not outcomes.pop(0):
            raise UnhealthyError("the store is down")

    for_long, for_no_time = CachedProbe(probe, 60), CachedProbe(probe, 0)
    await for_long()
    await for_long()
    with pytest.raises(UnhealthyError, match="the store is down"):
        await for_no_time()
    await for_no_time()

    assert outcomes == []
