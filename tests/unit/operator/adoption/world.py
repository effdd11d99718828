"""Host and apiext in memory, as far as adoption uses them: definitions, objects, policies, routing, and the host's etcd."""

import copy
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

import orjson

from apiext.base.meta import host_annotations
from apiext.base.meta.host_annotations import HOLD_MESSAGE, REVISION_BASE
from apiext.base.meta.patch import merge_patch
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.base.meta.selectors import LabelSelector
from apiext.base.webhook.client import WebhookError
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator import host_definitions
from apiext.operator.adoption.transition import Transition
from apiext.operator.api_clients import CRDS, ApiClient, Clients
from apiext.operator.apiservice_owner import ServiceTarget
from apiext.operator.apiservices.registrar import Registrar
from apiext.operator.group_state import GroupState, Routing
from apiext.operator.host_definitions import ConditionReason
from apiext.operator.names import NamespacedName
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.watched_state import WatchedState
from apiext.storage.etcd.config import EtcdConfig
from tests.support.builders.crds import widget_crd
from tests.support.servers.memory_backend import MemoryBackend

GROUP: Final = "example.com"
WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_LIST: Final = re.compile(rf"/apis/{re.escape(GROUP)}/(?P<version>[\w-]+)/(?:namespaces/(?P<namespace>[\w-]+)/)?(?P<plural>\w+)")
_PAGE: Final = 3
Answer = tuple[int, Any]


class Stopped(Exception):  # noqa: N818 -- not an error of anything: the operator was ended here
    """Ends the operator in the middle of a step."""


class World:
    """The state of both servers. `stop_at` interrupts the operator at that call; `meanwhile` is called before each call."""

    def __init__(self, *names: str) -> None:
        self.backend = MemoryBackend()
        self.host: dict[str, Any] = {}
        """Definitions, policies and bindings of the host, by path."""
        self.mirrors: dict[str, Any] = {}
        self.objects: dict[str, dict[str, Any]] = {}
        """What apiext has, by definition and key."""
        self.routed: dict[str, bool] = {"v1": False}
        """Which versions the host proxies to apiext."""
        self.said: list[tuple[ConditionReason, str]] = []
        self.events: list[tuple[str, str, str]] = []
        """What was said of which definition, by which reason."""
        self.admission: Answer = (200, "ok")
        """What apiext answers about the host's webhooks and policies."""
        self.inconvertible: set[str] = set()
        """The versions that apiext cannot convert its objects to."""
        self.watches_reset: list[str] = []
        self.forbids_webhooks = False
        """Whether the operator may not see and write webhook configurations."""
        self.tells_changes = True
        """Whether the host can be watched."""
        self.calls = 0
        self.stop_at = 0
        self.meanwhile: Callable[[], None] = lambda: None
        self.host_etcd: EtcdConfig | None = EtcdConfig(servers=("http://etcd",))
        self._revision = 10
        for name in names or ("widgets",):
            self.define(name)

    # --- what a test does ---------------------------------------------------------------------------------------------

    def define(self, plural: str, **metadata: Any) -> str:
        """Create a definition on the host, selected unless labels are given, with its mirror."""
        crd = widget_crd(plural, plural[:-1].capitalize(), group=GROUP)
        name = crd["metadata"]["name"]
        labels = {
            "labels": {host_annotations.SERVE_LABEL: host_annotations.SERVE_VALUE},
            "resourceVersion": self._next(),
            "uid": f"host-{name}",
        }
        crd["metadata"] |= labels | metadata
        crd["status"] = {"acceptedNames": {}, "conditions": [{"type": "Established", "status": "True"}]}
        self.host[f"{CRDS}/{name}"] = crd
        self._store_definition(crd)
        self.objects.setdefault(name, {})
        self._mirror()
        return str(name)

    def crd(self, plural: str = "widgets") -> Any:
        """Return a definition of the host."""
        return self.host[f"{CRDS}/{plural}.{GROUP}"]

    def has_crd(self, plural: str = "widgets") -> bool:
        """Report whether the host has a definition."""
        return f"{CRDS}/{plural}.{GROUP}" in self.host

    def phase(self, plural: str = "widgets") -> str | None:
        """Return the phase of a mirror."""
        mirror = self.mirrors.get(f"{plural}.{GROUP}")
        return mirror and mirror["metadata"]["annotations"].get(host_annotations.PHASE, host_annotations.IMPORTING)

    def write_at_host(self, key: str, spec: Any, plural: str = "widgets", *, version: str = "v1") -> None:
        """Write an object to the host's etcd."""
        path = f"/registry/{GROUP}/{plural}/{key}"
        self.put(path, None if spec is None else thing(key, spec) | {"apiVersion": f"{GROUP}/{version}"})

    def at_host(self, plural: str = "widgets") -> dict[str, Any]:
        """Return the specs in the host's etcd."""
        prefix = f"/registry/{GROUP}/{plural}/"
        state = self.backend.state
        return {key.removeprefix(prefix): json.loads(pair.value)["spec"] for key, pair in state.items() if key.startswith(prefix)}

    def at_apiext(self, plural: str = "widgets") -> dict[str, Any]:
        """Return the specs in apiext."""
        return {key: one["spec"] for key, one in self.objects[f"{plural}.{GROUP}"].items()}

    @property
    def denies_writes(self) -> bool:
        """Whether the host denies writes."""
        return any(path.startswith(POLICIES) for path in self.host) and any("bindings/" in path for path in self.host)

    @property
    def holds_writes(self) -> bool:
        """Whether the host asks apiext before writes, which holds them."""
        return any(path.startswith(WEBHOOKS) for path in self.host)

    def write(self, key: str, spec: Any, plural: str = "widgets") -> bool:
        """Write through the host as a client; return whether the write is acknowledged."""
        name = f"{plural}.{GROUP}"
        if not self.routed["v1"]:
            if refused := self.denies_writes or self.holds_writes:
                assert self.holds_writes, "clients do not try again"
            else:
                self.write_at_host(key, spec, plural)
            return not refused
        if self.phase(plural) != host_annotations.SERVING:
            return False
        self._next()
        if spec is None:
            self.objects[name].pop(key, None)
        else:
            self.objects[name][key] = thing(key, spec)
        return True

    def transition(self) -> Transition:
        """Return a transition of a new operator."""
        selector: LabelSelector = parse_label_selector(f"{host_annotations.SERVE_LABEL}={host_annotations.SERVE_VALUE}")
        self._selector = selector
        clients = Clients(
            host=api("http://host", self.ask_host, self.watch_host if self.tells_changes else None),
            apiext=api("http://apiext", self.ask_apiext, self.watch_apiext if self.tells_changes else None),
            host_etcd=self.host_etcd,
        )
        return Transition(self.state(), clients, cast("GroupReporter", self), cast("WatchedState", self), cast("Registrar", self))

    def state(self) -> GroupState:
        """Return the present state of the group."""
        self._mirror()
        crds = {one["metadata"]["name"]: copy.deepcopy(one) for path, one in self.host.items() if path.startswith(CRDS)}
        guarded = any(path.startswith(POLICIES) for path in self.host)
        mirrors = copy.deepcopy(self.mirrors)
        return GroupState(name=GROUP, selector=self._selector, crds=crds, definitions=mirrors, api_services={}, guarded=guarded)

    def target(self) -> ServiceTarget:
        """Replace Registrar."""
        return ServiceTarget(service=NamespacedName("apiext-system", "apiext"), port=443, ca_bundle="")

    # --- WatchedState, Registrar and GroupReporter --------------------------------------------------------------------

    async def refresh(self, _group: str, _clients: Clients) -> GroupState:
        """Replace WatchedState."""
        self._called()
        return self.state()

    async def route(self, _group: str, routing: Routing) -> None:
        """Replace Registrar."""
        self._called()
        if routing is not Routing.AS_IT_IS:
            self.routed = dict.fromkeys(self.routed, routing is Routing.APIEXT)

    async def condition(self, crds: Iterable[Any], reason: ConditionReason, message: str) -> None:
        """Replace GroupReporter."""
        reported = list(crds)
        if reported:
            self.said.append((reason, message))
        for crd in reported:
            path = f"{CRDS}/{crd['metadata']['name']}"
            if found := self.host.get(path):
                self.host[path] = merge_patch(found, host_definitions.condition(reason, message)(found) or {})

    async def event(self, about: Any, reason: str, message: str, *, warning: bool = False) -> None:
        """Replace GroupReporter."""
        self.events.append((about["metadata"]["name"], reason, message))

    # --- the host ------------------------------------------------------------------------------------------------------

    def ask_host(self, method: str, path: str, body: Any) -> Answer:
        """Return the host's answer."""
        self._called()
        parts = urlsplit(path)
        listed = _LIST.fullmatch(parts.path)
        if listed and self.routed.get(listed["version"]):
            return self._list_apiext(listed, parts.query)
        if listed:
            return self._list_host(listed, parts.query)
        if method == "POST" and parts.path == "/api/v1/namespaces/default/configmaps":
            return self._probe(body["metadata"]["name"])
        if method == "PATCH" and parts.path.startswith(f"/apis/{GROUP}/"):
            return self._patch_instance(parts.path, body)
        return self._stored(method, parts.path, body)

    def watch_host(self, path: str) -> list[Any]:
        """Return the events of a watch: of what differs from apiext's copies."""
        self._called()
        of = _watched(path)
        assert not self.routed[of["version"]]
        prefix = f"/registry/{GROUP}/{of['plural']}/"
        found = {key.removeprefix(prefix): orjson.loads(pair.value) for key, pair in self.backend.state.items() if key.startswith(prefix)}
        copies = self.objects[f"{of['plural']}.{GROUP}"]
        shown = {key: {**one, "apiVersion": f"{GROUP}/{of['version']}"} for key, one in found.items()}
        return _events(shown, copies, self._revision)

    def watch_apiext(self, path: str) -> list[Any]:
        """Return the events of a watch: of what differs from the host's copies."""
        self._called()
        of = _watched(path)
        prefix = f"/registry/{GROUP}/{of['plural']}/"
        copies = {key.removeprefix(prefix): orjson.loads(pair.value) for key, pair in self.backend.state.items() if key.startswith(prefix)}
        return _events(self.objects[f"{of['plural']}.{GROUP}"], copies, REVISION_BASE + self._revision)

    def _list_host(self, of: re.Match[str], query: str) -> Answer:
        """Answer as the host does with conversion strategy None."""
        version, plural = of["version"], of["plural"]
        if not self.has_crd(plural):
            return not_found()
        prefix = f"/registry/{GROUP}/{plural}/{_scope(of)}"
        found = [orjson.loads(pair.value) for key, pair in sorted(self.backend.state.items()) if key.startswith(prefix)]
        known = {f"{GROUP}/{one['name']}" for one in self.crd(plural)["spec"]["versions"]}
        for one in found:
            if one["apiVersion"] not in known:
                return _status(500, f"request to convert CR from an invalid group/version: {one['apiVersion']}")
        return _page([one | {"apiVersion": f"{GROUP}/{version}"} for one in found], query, self._revision)

    def _probe(self, name: str) -> Answer:
        if name.startswith("apiext-hold-") and self.holds_writes:
            return _status(429, HOLD_MESSAGE)
        for path, policy in self.host.items():
            if (
                path.startswith(POLICIES)
                and self.denies_writes
                and name in policy["spec"]["matchConstraints"]["resourceRules"][-1]["resourceNames"]
            ):
                return _status(403, f"denied request: {policy['spec']['validations'][0]['message']}")
        return 201, {"metadata": {"name": name}}

    def _stored(self, method: str, path: str, body: Any) -> Answer:
        path = path.removesuffix("/status")
        if self.forbids_webhooks and path.startswith(WEBHOOKS):
            return _status(403, "forbidden")
        found = self.host.get(path)
        if method == "POST":
            self.host[f"{path}/{body['metadata']['name']}"] = body
            return 201, body
        if found is None:
            return not_found()
        if method == "DELETE":
            return 200, self.host.pop(path)
        if method == "PUT":
            found = self.host[path] = body
        if method == "PATCH":
            revision = body.get("metadata", {}).get("resourceVersion")
            if revision not in {None, found["metadata"].get("resourceVersion")}:
                return _status(409, "conflict")
            found = self.host[path] = merge_patch(found, body)
            self._changed(path, found, body)
        return 200, found

    def _changed(self, path: str, found: Any, body: Any) -> None:
        found["metadata"]["resourceVersion"] = self._next()
        if "categories" in body.get("spec", {}).get("names", {}):
            found["status"]["acceptedNames"] = found["spec"]["names"]
            self.watches_reset.append(found["metadata"]["name"])
        if path.startswith(CRDS) and found["metadata"].get("deletionTimestamp") and not found["metadata"].get("finalizers"):
            del self.host[path]

    def _patch_instance(self, path: str, body: Any) -> Answer:
        *_, namespace, plural, name = path.split("/")
        policies = [one for path, one in self.host.items() if path.startswith(POLICIES)]
        if self.denies_writes and any(plural in policy["spec"]["matchConstraints"]["resourceRules"][0]["resources"] for policy in policies):
            return _status(403, "denied")
        key = f"/registry/{GROUP}/{plural}/{namespace}/{name}"
        found = merge_patch(orjson.loads(self.backend.state[key].value), body)
        self.put(key, found if found["metadata"].get("finalizers") else None)
        return 200, found

    # --- apiext --------------------------------------------------------------------------------------------------------

    def ask_apiext(self, method: str, path: str, body: Any) -> Answer:
        """Return apiext's answer."""
        self._called()
        parts = urlsplit(path)
        if parts.path == "/readyz/admission":
            return self.admission
        if listed := _LIST.fullmatch(parts.path):
            return self._list_apiext(listed, parts.query)
        name = parts.path.rpartition("/")[2]
        mirror = self.mirrors.get(name)
        if mirror is None:
            return not_found()
        if parts.path.startswith("/apiext/import/"):
            return self._import(name, body)
        if method == "PATCH":
            mirror = self.mirrors[name] = merge_patch(mirror, body)
        if method == "DELETE":
            assert self.phase(name.partition(".")[0]) in {host_annotations.IMPORTING, host_annotations.LEAVING}
            del self.mirrors[name]
            self.objects[name] = {}
        return 200, mirror

    def _import(self, name: str, body: bytes) -> Answer:
        if self.phase(name.partition(".")[0]) != host_annotations.IMPORTING:
            return _status(409, "its phase is another")
        for line in body.splitlines():
            found = orjson.loads(line)
            if "delete" in found:
                gone = found["delete"]
                self.objects[name].pop(f"{gone['namespace']}/{gone['name']}", None)
            else:
                metadata = found["metadata"]
                assert "resourceVersion" not in metadata
                self.objects[name][f"{metadata['namespace']}/{metadata['name']}"] = found
        return 200, {"created": 0}

    def _list_apiext(self, of: re.Match[str], query: str) -> Answer:
        if f"{of['plural']}.{GROUP}" not in self.mirrors:
            return not_found()
        if self.phase(of["plural"]) == host_annotations.LEAVING:
            return _status(503, "it is going back")
        found = [one for key, one in sorted(self.objects[f"{of['plural']}.{GROUP}"].items()) if key.startswith(_scope(of))]
        if found and of["version"] in self.inconvertible:
            return _status(500, "webhook failed")
        return _page(found, query, REVISION_BASE + self._revision)

    # --- both ----------------------------------------------------------------------------------------------------------

    def _called(self) -> None:
        self.calls += 1
        self.meanwhile()
        if self.calls == self.stop_at:
            raise Stopped

    def _next(self) -> str:
        self._revision += 1
        return str(self._revision)

    def _mirror(self) -> None:
        """Create the mirrors of selected definitions, as apiext does."""
        for path, crd in self.host.items():
            metadata = crd["metadata"]
            wanted = metadata.get("labels", {}).get(host_annotations.SERVE_LABEL) and not (metadata.get("annotations") or {}).get(
                host_annotations.HAND_OVER
            )
            if path.startswith(CRDS) and wanted and not metadata.get("deletionTimestamp") and metadata["name"] not in self.mirrors:
                annotations = {host_annotations.HOST_UID: metadata["uid"]}
                own = {"name": metadata["name"], "uid": f"mirror-{self._next()}", "annotations": annotations}
                self.mirrors[metadata["name"]] = {**crd, "metadata": own}

    def _store_definition(self, crd: Any) -> None:
        self.put(f"/registry/apiextensions.k8s.io/customresourcedefinitions/{crd['metadata']['name']}", crd)

    def put(self, key: str, value: Any) -> None:
        """Write to the host's etcd synchronously."""
        self._next()
        found = self.backend.state.get(key)
        data = json.dumps(value).encode()
        if value is None:
            if found is None:
                return
            coroutine = self.backend.delete(key, expected=found.revision)
        elif found is None:
            coroutine = self.backend.create(key, data)
        else:
            coroutine = self.backend.update(key, data, expected=found.revision)
        try:
            coroutine.send(None)
        except StopIteration:
            return
        raise AssertionError("the backend waits")


class _Client:
    def __init__(self, answer: Callable[[str, str, Any], Answer], events: Callable[[str], list[Any]] | None = None) -> None:
        self._answer = answer
        self._events = events

    @asynccontextmanager
    async def lines(self, path: str, *, longest: float, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        assert longest >= silence > 0
        if self._events is None:
            raise WebhookError("no watch", code=410)
        yield _each(map(orjson.dumps, self._events(urlsplit(path).path)))

    async def ask(self, path: str, *, method: str = "GET", body: Any = None, headers: Any = None) -> tuple[int, bytes]:
        code, found = self._answer(method, path, copy.deepcopy(body))
        return code, orjson.dumps(found)


def _watched(path: str) -> re.Match[str]:
    of = _LIST.fullmatch(path)
    assert of
    return of


def _events(present: Mapping[str, Any], elsewhere: Mapping[str, Any], revision: int) -> list[Any]:
    """Return the events of the objects in which both sides differ, then a bookmark."""
    events = [("MODIFIED", one) for key, one in present.items() if one != elsewhere.get(key)] + [
        ("DELETED", one) for key, one in elsewhere.items() if key not in present
    ]
    shown = [{"type": kind, "object": {**one, "metadata": {**one["metadata"], "resourceVersion": "1"}}} for kind, one in events]
    return [*shown, {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(revision)}}}]


async def _each(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


def api(url: str, answer: Callable[[str, str, Any], Answer], events: Callable[[str], list[Any]] | None = None) -> ApiClient:
    """Return the client of a server in memory, which can be watched if it has events."""
    found = ApiClient(Endpoint(url=url, context=None))
    found.client = _Client(answer, events)  # type: ignore[assignment]
    return found


def thing(key: str, spec: Any) -> dict[str, Any]:
    """Return an object."""
    namespace, _, name = key.partition("/")
    metadata: dict[str, Any] = {"namespace": namespace, "name": name, "uid": f"uid-{key}"}
    if isinstance(spec, dict) and "finalizers" in spec:
        metadata["finalizers"] = spec["finalizers"]
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def _scope(of: re.Match[str]) -> str:
    """Return the start of the keys of a list."""
    return f"{of['namespace']}/" if of["namespace"] else ""


def _page(items: list[Any], query: str, revision: int) -> Answer:
    asked = parse_qs(query)
    after = asked.get("continue", [""])[0]
    left = [one for one in items if _key(one) > after]
    shown = left[: min(_PAGE, int(asked["limit"][0]))]
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if len(shown) < len(left):
        metadata |= {"continue": _key(shown[-1]), "remainingItemCount": len(left) - len(shown)}
    return 200, {"metadata": metadata, "items": [{**one, "metadata": one["metadata"] | {"resourceVersion": "7"}} for one in shown]}


def _key(one: dict[str, Any]) -> str:
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"


def not_found() -> Answer:
    """Return the answer for a missing object."""
    return _status(404, "not found")


def _status(code: int, message: str) -> Answer:
    return code, {"kind": "Status", "code": code, "message": message}
