"""/statusz, /flagz and /metrics/slis of both servers: forms, errors and structure; the values are each server's own."""

import json
import re
from typing import Any, Final

import pytest
import yaml

from hack.lib.differential.pair import Pair, Side, Step

pytestmark = pytest.mark.slow

_PAGES: Final = {"/statusz": "Statusz", "/flagz": "Flagz"}
_FORMS: Final = (
    "",
    " ",
    "*/*",
    "text/*",
    "text/plain",
    "text/plain;as=Statusz;v=v1beta1;g=config.k8s.io",
    "application/json",
    "application/yaml",
    "application/json;as=KIND;v=v1beta1;g=config.k8s.io",
    "application/json;as=KIND;v=v1alpha1;g=config.k8s.io",
    "application/yaml;as=KIND;v=v1beta1;g=config.k8s.io",
    "application/*;as=KIND;v=v1beta1;g=config.k8s.io",
    "*/*;as=KIND;v=v1beta1;g=config.k8s.io",
    "application/json;as=KIND;v=v1;g=config.k8s.io",
    "application/json;as=KIND;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Other;v=v1beta1;g=config.k8s.io",
    "application/json;v=v1beta1;g=config.k8s.io",
    "application/vnd.kubernetes.protobuf;as=KIND;v=v1beta1;g=config.k8s.io",
    "application/vnd.kubernetes.protobuf, text/plain",
    "image/png",
)
_HEADERS: Final = ("Content-Type", "Warning", "Cache-Control")
_NAMES: Final = re.compile(r"^([A-Z][a-z]+(?: [a-z]+)?)(?::|=|: | ) ", re.MULTILINE)


def _shown(side: Side, path: str, accept: str, *, method: str = "GET") -> tuple[Any, ...]:
    """Return what must be equal of an answer: errors and heads as they are, the names of values."""
    headers = {"Accept": accept} if accept else {}
    response, data = side.raw(Step(method, path, {} if method == "POST" else None, headers))
    sent = {name: response.headers.get(name) for name in _HEADERS}
    kind = response.headers.get_content_type()
    if kind == "text/plain":
        lines = data.decode().split("\n")
        # other lines have the delimiter that the server has chosen for this answer
        names = _NAMES.findall(data.decode()) if path == "/statusz" else [str(len(lines) > 4)]
        return response.status, sent, lines[:4] if path == "/statusz" else lines[:3], names
    body = yaml.safe_load(data) if kind == "application/yaml" else json.loads(data)
    if body["kind"] == "Status":
        return response.status, sent, body
    shown = {
        key: sorted({type(each).__name__ for each in value.values()}) if key == "flags" else type(value).__name__
        for key, value in body.items()
    }
    return response.status, sent, shown, body["kind"], body["apiVersion"], body["metadata"], body.get("emulationVersion")


@pytest.mark.parametrize("path", _PAGES)
def test_forms(pair: Pair, path: str) -> None:
    """Answer in the form that the client accepts, and refuse others alike."""
    for accept in _FORMS:
        form = accept.replace("KIND", _PAGES[path])
        assert _shown(pair.ours, path, form) == _shown(pair.reference, path, form), form
    for method in ("POST", "DELETE"):
        assert _shown(pair.ours, path, "", method=method) == _shown(pair.reference, path, "", method=method)
    for other in (f"{path}/", f"{path}/x"):
        theirs, ours = (
            (response.status, data) for response, data in (side.raw(Step("GET", other)) for side in (pair.reference, pair.ours))
        )
        assert ours == theirs


def test_health_as_metrics(pair: Pair) -> None:
    """Show the results of health checks with the same names, labels and types."""
    found = []
    for side in (pair.reference, pair.ours):
        for path in ("/livez", "/readyz", "/livez/ping"):
            side.raw(Step("GET", path))
        response, data = side.raw(Step("GET", "/metrics/slis"))
        lines = data.decode().splitlines()
        pings = {re.sub(r" [\d.e+]+$", "", line) for line in lines if 'name="ping"' in line and "healthz" not in line}
        found.append(
            (response.status, response.headers["Content-Type"], sorted(line for line in lines if line.startswith("# TYPE")), pings)
        )

    assert found[0] == found[1]


def test_index(pair: Pair) -> None:
    """List the paths at the root."""
    for side in (pair.reference, pair.ours):
        paths = json.loads(side.raw(Step("GET", "/"))[1])["paths"]
        assert {*_PAGES, "/metrics/slis"} <= set(paths)
