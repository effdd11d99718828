"""Sends each request to both servers and compares the responses."""

import http.client
import itertools
import json
import re
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import yaml

from apiext.base.meta.encoding import cbor_codec, json_values
from hack.lib.definitions import date_back
from hack.lib.differential.masking import masked, without_prose
from hack.lib.differential.stuck_removal import StuckRemoval
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HEADERS: Final = ("Content-Type", "Warning", "Location", "Retry-After", "Allow", "Cache-Control", "Vary")
_SETTLE: Final = 60.0
_ASKINGS: Final = 16
"""Number of repeated requests to detect varying responses of the reference."""
_ASKINGS_OF_VARYING: Final = 256
"""Number of repeated requests once responses varied: four independent orders of two keys agree with ours in 1 of 16 responses."""
_INITIALIZING: Final = b"storage is (re)initializing"
_PATIENCE: Final = 60.0
"""Seconds to wait for equal responses to a step with `retry`."""
_PAUSE: Final = 0.02
"""Seconds between two of these requests: other tests need the processor too."""
_TIMED: Final = "timeoutSeconds="
Response = tuple[http.client.HTTPResponse, bytes]
P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """One request. In its path and body "{uid:KEY}" and "{rv:KEY}" are replaced by the uid and resourceVersion at path KEY."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    retry: bool = False
    """Whether controllers still change the object: repeat the request until both responses are equal or time is up."""
    until: str = ""
    """A text that the response, as JSON with sorted keys, contains at the end of the retries."""

    def __str__(self) -> str:
        headers = "".join(f" [{key}: {value}]" for key, value in self.headers.items())
        return f"{self.method} {self.path}{headers} {json.dumps(self.body) if not isinstance(self.body, bytes) else self.body!r}"[:2000]


@dataclass(frozen=True, slots=True)
class Answer:
    """The compared parts of a response."""

    code: int
    headers: dict[str, str]
    body: Any


class Side:
    """A connection to one of the servers."""

    def __init__(self, url: str, context: ssl.SSLContext, mask: Callable[[Any], Any] = masked) -> None:
        self.url = url
        self.context = context
        self._mask = mask
        self._connection = http.client.HTTPSConnection(urlsplit(url).netloc, timeout=30, context=context)

    def raw(self, step: Step) -> Response:
        """Send the request and read the whole response."""
        data, headers = self._encode(step)
        try:
            self._connection.request(step.method, step.path, data, headers)
            response = self._connection.getresponse()
        except (http.client.HTTPException, OSError):
            self._connection.close()
            self._connection.request(step.method, step.path, data, headers)
            response = self._connection.getresponse()
        return response, response.read()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ask(self, step: Step) -> Answer:
        """Send the request; return the response with values masked that always differ between servers.

        While a server fills its watch cache, repeat the request, as clients do.
        """
        deadline = time.monotonic() + _PATIENCE
        response, data = self.raw(self.resolved(step))
        while response.status == http.client.TOO_MANY_REQUESTS and _INITIALIZING in data and time.monotonic() < deadline:
            time.sleep(_PAUSE)
            response, data = self.raw(self.resolved(step))
        headers = {name: value for name in _HEADERS if (value := ", ".join(response.headers.get_all(name) or []))}
        body = _parse(data, headers.get("Content-Type", ""))
        return Answer(response.status, headers, self._mask(without_prose(body) if step.path.startswith("/openapi/") else body))

    def together(self, call: Callable[["Side", P], T], parameters: Collection[P]) -> list[T]:
        """Return the result of a call for each parameter; the calls run at the same time, on connections of their own."""

        def alone(parameter: P) -> T:
            with closing(Side(self.url, self.context, self._mask)) as side:
                return call(side, parameter)

        with ThreadPoolExecutor(len(parameters)) as threads:
            return list(threads.map(alone, parameters))

    def resolved(self, step: Step) -> Step:
        """Return the step with its uids and revisions replaced by those of this server."""
        text = json.dumps({"path": step.path, "body": step.body}) if not isinstance(step.body, bytes) else json.dumps({"path": step.path})
        wanted = set(re.findall(r"\{(uid|rv):([^}]+)\}", text))
        for kind, path in wanted:
            _, data = self.raw(Step("GET", path))
            metadata = json.loads(data).get("metadata", {})
            text = text.replace(f"{{{kind}:{path}}}", metadata.get("uid" if kind == "uid" else "resourceVersion", ""))
        found = json.loads(text)
        return replace(step, path=found["path"], body=found.get("body", step.body))

    @staticmethod
    def _encode(step: Step) -> tuple[bytes | None, dict[str, str]]:
        headers = dict(step.headers)
        if step.body is None:
            return None, headers
        data = step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode()
        default = "application/merge-patch+json" if step.method == "PATCH" else "application/json"
        headers.setdefault("Content-Type", default)
        return data, headers


class Pair:
    """The reference and the server under test."""

    def __init__(self, reference: ControlPlane | Side, ours: ApiextServer, mask: Callable[[Any], Any] = masked) -> None:
        """Connect to both. `mask` replaces what always differs in bodies."""
        self.reference = reference if isinstance(reference, Side) else Side(reference.url, reference.ssl_context(), mask)
        self.ours = Side(ours.url, ours.ssl_context(), mask)
        self.pid = ours.pid
        """The process id of the server under test."""
        self.compared = 0
        """Number of compared requests."""
        self.varied = 0
        """Number of requests to which the reference responds in several ways, one of which is apiext's."""

    def close(self) -> None:
        """Close both connections."""
        self.reference.close()
        self.ours.close()

    def differences(self, step: Step) -> list[str]:
        """Send a request to both servers; return nothing if the responses are equal, else one line with both.

        A missing `until` text at the end of the retries is a line too.
        """
        self.compared += 1
        deadline = time.monotonic() + _PATIENCE
        theirs, ours = self._answers(step)
        stuck = _stuck_removal(self.reference, step.path)
        while step.retry and not (theirs == ours and _holds(theirs, step.until)) and time.monotonic() < deadline:
            stuck.observe(_text(theirs))
            time.sleep(_PAUSE)
            theirs, ours = self._answers(step)
        theirs = self._repeat_reference(step, theirs, ours)
        missing = [] if _holds(theirs, step.until) else [f"{step}\n    reference, without {step.until}: {theirs}"]
        return missing + [f"{step}\n    reference: {one}\n    apiext:    {other}" for one, other in differing(theirs, ours)]

    def at_once(self, call: Callable[[Side], T]) -> tuple[T, T]:
        """Return the results of a call for the reference and for apiext, executed at the same time."""
        with ThreadPoolExecutor(1) as other:
            theirs = other.submit(call, self.reference)
            ours = call(self.ours)
            return theirs.result(), ours

    def _answers(self, step: Step) -> tuple[Answer, Answer]:
        """Return the answers of the reference and of apiext; watches of a few seconds run at the same time."""
        if _TIMED in step.path:
            return self.at_once(lambda side: side.ask(step))
        return self.reference.ask(step), self.ours.ask(step)

    def _repeat_reference(self, step: Step, theirs: Answer, ours: Answer) -> Answer:
        """If the responses differ, repeat a request without side effects on the reference: some depend on the order of a Go map."""
        harmless = "dryRun=All" in step.path or theirs.code >= http.client.BAD_REQUEST
        if not harmless or theirs.code != ours.code or theirs == ours:
            return theirs
        first, varies = theirs, False
        for number in range(_ASKINGS_OF_VARYING):
            theirs = self.reference.ask(step)
            varies = varies or theirs != first
            if theirs == ours:
                self.varied += 1
                break
            if number >= _ASKINGS and not varies:
                break
        return theirs

    def remove_definitions(self, domain: str) -> None:
        """Delete the definitions of all groups that end in `domain`, with the objects that block their deletion."""
        for side in (self.reference, self.ours):
            found = json.loads(side.raw(Step("GET", _DEFINITIONS))[1])["items"]
            for crd in (crd for crd in found if crd["spec"]["group"].endswith(domain)):
                path = f"{_DEFINITIONS}/{crd['metadata']['name']}"
                for version in (version["name"] for version in crd["spec"]["versions"] if version["served"]):
                    _remove_finalizers(side, f"/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}")
                side.raw(Step("DELETE", path))
                others = [name for name in crd["metadata"].get("finalizers", ()) if "apiextensions" not in name]
                if others:
                    side.raw(Step("PATCH", path, {"metadata": {"finalizers": None}}))
                wait_for_removal(side, path)

    @contextmanager
    def served(self, *crds: dict[str, Any]) -> Iterator[None]:
        """Create CRDs on both servers, wait until they are served, and delete them at the end of the block."""
        sides = (self.reference, self.ours)
        for side, crd in itertools.product(sides, crds):
            _must(side, Step("POST", _DEFINITIONS, crd))
        for side, crd in itertools.product(sides, crds):
            wait_for_code(side, Step("GET", _collection(crd)), http.client.OK)
            _date_back(side, f"{_DEFINITIONS}/{crd['metadata']['name']}")
        with ExitStack() as stack:
            # each side, although the other one fails
            for side in reversed(sides):
                stack.callback(_remove, side, crds)
            yield


def _remove(side: Side, crds: Sequence[dict[str, Any]]) -> None:
    """Delete CRDs with their objects, and wait until they are gone."""
    paths = [f"{_DEFINITIONS}/{crd['metadata']['name']}" for crd in crds]
    for path, crd in zip(paths, crds, strict=True):
        _remove_finalizers(side, _collection(crd))
        side.raw(Step("DELETE", path))
    for path in paths:
        wait_for_removal(side, path)


def _holds(answer: Answer, text: str) -> bool:
    return text in _text(answer)


def _text(answer: Answer) -> str:
    return json.dumps(answer.body, sort_keys=True)


def _stuck_removal(side: Side, path: str) -> StuckRemoval:
    return StuckRemoval(lambda: side.raw(Step("PATCH", path, {"metadata": {"annotations": {"changed": str(time.monotonic())}}})))


def _must(side: Side, step: Step) -> None:
    response, data = side.raw(step)
    if response.status >= http.client.BAD_REQUEST:
        raise AssertionError(f"{step.method} {step.path} is refused with {response.status}: {data[:500]!r}")


def _date_back(side: Side, path: str) -> None:
    """Date back the condition Established of the definition at a path."""
    patch = date_back(lambda: json.loads(side.raw(Step("GET", path))[1]))
    _must(side, Step("PATCH", f"{path}/status", patch, {"Content-Type": "application/json-patch+json"}))


def _collection(crd: dict[str, Any]) -> str:
    version = next(version["name"] for version in crd["spec"]["versions"] if version["served"])
    return f"/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}"


def _remove_finalizers(side: Side, collection: str) -> None:
    """Remove the finalizers of every object so that the CRD can be deleted."""
    response, data = side.raw(Step("GET", collection))
    for item in json.loads(data).get("items", []) if response.status == http.client.OK else ():
        metadata = item["metadata"]
        if metadata.get("finalizers"):
            base, _, plural = collection.rpartition("/")
            path = f"{base}/namespaces/{metadata['namespace']}/{plural}" if "namespace" in metadata else collection
            side.raw(Step("PATCH", f"{path}/{metadata['name']}", {"metadata": {"finalizers": None}}))


def wait_for_code(side: Side, step: Step, code: int) -> None:
    """Repeat a request until its response has the status code.

    Raises:
        AssertionError: Another code comes after `_SETTLE` seconds.
    """
    until(lambda: side.raw(step)[0].status == code, f"the response {code} to {step}", patience=_SETTLE)


def wait_for_removal(side: Side, path: str) -> None:
    """Wait until the deleted definition at a path is gone.

    Raises:
        AssertionError: the definition is still there after `_SETTLE` seconds.
    """
    stuck = _stuck_removal(side, path)

    def is_gone() -> bool:
        response, data = side.raw(Step("GET", path))
        stuck.observe(data.decode())
        return response.status == http.client.NOT_FOUND

    until(is_gone, f"the removal of {path}", patience=_SETTLE)


def _parse(data: bytes, media_type: str) -> Any:
    try:
        if media_type.startswith("application/cbor"):
            return json_values.transform(cbor_codec.loads(data), _with_type)
        return yaml.safe_load(data) if media_type == "application/yaml" else json.loads(data)
    except ValueError:
        return data.decode(errors="replace")


def _with_type(item: Any) -> Any:
    """Distinguish floats from integers, which are equal in Python."""
    return f"float {item!r}" if type(item) is float else item


def differing(theirs: Answer, ours: Answer) -> Iterator[tuple[object, object]]:
    """Yield the parts in which two answers differ."""
    if theirs.code != ours.code:
        yield (theirs.code, theirs.body), (ours.code, ours.body)
        return
    if theirs.headers != ours.headers:
        yield theirs.headers, ours.headers
    if theirs.body != ours.body:
        yield from nested("", theirs.body, ours.body)


def nested(path: str, theirs: Any, ours: Any) -> Iterator[tuple[object, object]]:
    """Yield the innermost members that differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            if theirs.get(key) != ours.get(key) or (key in theirs) != (key in ours):
                yield from nested(f"{path}.{key}", theirs.get(key, "<absent>"), ours.get(key, "<absent>"))
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            if one != other:
                yield from nested(f"{path}[{index}]", one, other)
    else:
        yield f"{path} = {theirs!r}", f"{path} = {ours!r}"
