"""A world that lives: the host's controllers, apiext and clients act between any two calls of an operator with its real reconciler."""

import copy
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import orjson

from apiext.base.meta import host_annotations
from apiext.operator.adoption.admission_policy import groups_with_policy
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError, Clients
from apiext.operator.apiservice_owner import AUTOMANAGED
from apiext.operator.group_state import condition_of, phase_of
from apiext.operator.reconciler import Reconciler
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.watched_state import WatchedState
from tests.unit.operator.adoption.world import GROUP, POLICIES, WEBHOOKS, Answer, Stopped, World, api, not_found
from tests.unit.operator.parts import SELECTOR, TARGET, api_service

PLURALS: Final = ("widgets", "gadgets")
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_EVENTS: Final = "/api/v1/namespaces/default/events"
_LIST: Final = re.compile(rf"/apis/{re.escape(GROUP)}/(?P<version>[\w-]+)/(?:namespaces/[\w-]+/)?(?P<plural>\w+)")
_MARKS: Final = {"label": ("labels", host_annotations.SERVE_LABEL), "hand_over": ("annotations", host_annotations.HAND_OVER)}
Action = tuple[str, str, bool]


class LivingWorld(World):
    """A group with up to two definitions, its APIServices, and clients; `held` has what clients were told is stored."""

    def __init__(self, *, etcd: bool, pace: int) -> None:
        self.pace = pace
        """Calls of the operator between two turns of controllers and apiext."""
        self.held: dict[tuple[str, str], dict[str, Any]] = {}
        """The finalizers and the value of each acknowledged object, by plural and key; whether its definition was deleted."""
        self._terminated: set[str] = set()
        """Uids of definitions that apiext has seen terminating."""
        super().__init__(*PLURALS)
        for plural in PLURALS:
            self.crd(plural)["metadata"]["labels"] = {}
        self.mirrors.clear()
        self.host_etcd = self.host_etcd if etcd else None
        self.clients = Clients(
            host=api("http://host", self.ask_host), apiext=api("http://apiext", self.ask_apiext), host_etcd=self.host_etcd
        )
        self.live()

    @property
    def routed(self) -> dict[str, bool]:
        """Which versions the host proxies to apiext."""
        return {one["spec"]["version"]: bool(one["spec"].get("service")) for one in self.under(API_SERVICES)}

    @routed.setter
    def routed(self, _routed: Any) -> None:
        """Ignore the value: APIServices decide."""

    def under(self, collection: str) -> list[Any]:
        """Return the objects of a collection of the host."""
        return [found for path, found in self.host.items() if path.startswith(f"{collection}/")]

    # --- the operator -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start a new operator, which knows nothing."""
        self.watched = WatchedState(SELECTOR, lambda _group: None, str(TARGET.service))
        self.watched.known = True
        self.calls = self.stop_at = 0
        self.meanwhile = lambda: None
        self.watched.guarded = await groups_with_policy(self.clients.host, str(TARGET.service))
        recorder = EventRecorder(self.clients.host, instance="me")
        self._reconciler = Reconciler(self.clients, self.watched, recorder, lambda: TARGET, _no_diagnosis)

    async def operate(self, meanwhile: Mapping[int, Sequence[Action]], stop_at: int = 0) -> None:
        """Let the operator see the present state and reconcile, with actions of others at its calls by number; end it at a call."""

        def act() -> None:
            if self.calls % self.pace == 0:
                self.live()
            for action in meanwhile.get(self.calls, ()):
                self.act(*action)
            self.check()

        self.live()
        self.watched.crds.replace(copy.deepcopy(self.under(CRDS)))
        self.watched.api_services.replace(copy.deepcopy(self.under(API_SERVICES)))
        self.watched.definitions.replace(copy.deepcopy([*self.mirrors.values()]))
        self.calls, self.stop_at, self.meanwhile = 0, stop_at, act
        try:
            with suppress(ApiError):
                await self._reconciler.reconcile(GROUP)
        except Stopped:
            await self.start()
        self.meanwhile = lambda: None
        self.check()

    async def settle(self) -> None:
        """Let a new operator act until nothing changes."""
        await self.start()
        self.pace = 1
        before: object = None
        for _ in range(12):
            now = copy.deepcopy((self.host, self.mirrors, self.objects, self.backend.state))
            if now == before:
                return
            before = now
            await self.operate({})
        raise AssertionError("the operator does not come to rest")

    # --- other actors -------------------------------------------------------------------------------------------------

    def act(self, what: str, plural: str, flag: bool) -> None:  # noqa: FBT001 -- part of a generated action
        """Perform an action of a user or a client, if it is possible."""
        if what in _MARKS:
            if self.has_crd(plural):
                self._mark(plural, *_MARKS[what], on=flag)
        elif what == "create":
            if not self.has_crd(plural):
                self.define(plural, labels={host_annotations.SERVE_LABEL: host_annotations.SERVE_VALUE} if flag else {})
        else:
            getattr(self, f"_{what}")(plural, flag)
        self.check()

    def define(self, plural: str, **metadata: Any) -> str:
        """Create a definition on the host, with a uid of its own."""
        return super().define(plural, uid=f"host-{plural}-{self._next()}", **metadata)

    def _mark(self, plural: str, member: str, name: str, *, on: bool) -> None:
        metadata = self.crd(plural)["metadata"]
        texts = {key: value for key, value in (metadata.get(member) or {}).items() if key != name}
        metadata[member] = texts | ({name: "true"} if on else {})
        metadata["resourceVersion"] = self._next()

    def _replace(self, plural: str, labelled: bool) -> None:  # noqa: FBT001
        """Put a live definition of a manifest that has nothing of the operator, with the label or without it."""
        if self.has_crd(plural) and not self.crd(plural)["metadata"].get("deletionTimestamp"):
            metadata = self.crd(plural)["metadata"]
            labels = {host_annotations.SERVE_LABEL: host_annotations.SERVE_VALUE} if labelled else {}
            metadata |= {"labels": labels, "annotations": {}, "finalizers": [], "resourceVersion": self._next()}

    def _delete(self, plural: str, _flag: bool) -> None:  # noqa: FBT001
        if self.has_crd(plural) and not self.crd(plural)["metadata"].get("deletionTimestamp"):
            metadata = self.crd(plural)["metadata"]
            metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": self._next()}
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), CLEANUP_FINALIZER]
            for (of, _key), found in self.held.items():
                found["doomed"] |= of == plural

    def _unguard(self, _plural: str, _flag: bool) -> None:  # noqa: FBT001
        """Delete the policy while apiext serves."""
        if all(self.routed.values()) and {phase_of(one) for one in self.mirrors.values()} == {host_annotations.SERVING}:
            for path in [path for path in self.host if "validatingadmissionpolic" in path]:
                del self.host[path]

    def _restart(self, _plural: str, _flag: bool) -> None:  # noqa: FBT001
        """Do nothing: the step begins with a new operator."""

    # --- clients ------------------------------------------------------------------------------------------------------

    def _write(self, plural: str, finalizer: bool) -> None:  # noqa: FBT001
        """Create an object."""
        revision = self._next()
        key = f"ns{int(revision) % 2}/o{revision}"
        found = {"n": revision, "finalizers": ["example.com/kept"] if finalizer else [], "doomed": False}
        deleted = self.has_crd(plural) and self.crd(plural)["metadata"].get("deletionTimestamp")
        if self.has_crd(plural) and not deleted and self._store(plural, key, found):
            self.held[plural, key] = found

    def _change(self, plural: str, removes: bool) -> None:  # noqa: FBT001
        """Change or remove the oldest object without a finalizer."""
        for (of, key), found in self.held.items():
            if of == plural and not found["finalizers"] and key in (self.visible(plural) or {}):
                after = None if removes else found | {"n": self._next()}
                if self._store(plural, key, after):
                    self._hold(plural, key, after)
                return

    def _strip(self, plural: str, _flag: bool) -> None:  # noqa: FBT001
        """Remove the finalizers of the oldest object that has some, as its controller does."""
        for (of, key), found in self.held.items():
            if of == plural and found["finalizers"] and key in (self.visible(plural) or {}):
                after = None if found["doomed"] else found | {"finalizers": []}
                if self._store(plural, key, after):
                    self._hold(plural, key, after)
                return

    def _hold(self, plural: str, key: str, found: dict[str, Any] | None) -> None:
        del self.held[plural, key]
        if found is not None:
            self.held[plural, key] = found

    def _store(self, plural: str, key: str, found: dict[str, Any] | None) -> bool:
        """Write through the host; return whether the write is acknowledged."""
        stored = found and _object(key, found)
        if self.routed.get("v1"):
            mirror = self.mirrors.get(f"{plural}.{GROUP}")
            if mirror is None or phase_of(mirror) != host_annotations.SERVING:
                return False
            if found is None:
                self.objects[f"{plural}.{GROUP}"].pop(key, None)
            elif key in self.objects[f"{plural}.{GROUP}"] or not mirror["metadata"].get("deletionTimestamp"):
                self.objects[f"{plural}.{GROUP}"][key] = stored
            else:
                return False
            return True
        if not self.has_crd(plural) or self._is_guarded(plural):
            return False
        self.put(f"/registry/{GROUP}/{plural}/{key}", stored)
        return True

    def _is_guarded(self, plural: str) -> bool:
        rules = [policy["spec"]["matchConstraints"]["resourceRules"][0] for policy in self.under(POLICIES)]
        return self.denies_writes and any(plural in rule["resources"] for rule in rules)

    def visible(self, plural: str) -> dict[str, Any] | None:
        """Return what a client lists, None if it gets an error."""
        if self.routed.get("v1"):
            mirror = self.mirrors.get(f"{plural}.{GROUP}")
            return None if mirror is None or phase_of(mirror) == host_annotations.LEAVING else self.objects[f"{plural}.{GROUP}"]
        return self.on_host(plural) if self.has_crd(plural) else None

    def on_host(self, plural: str) -> dict[str, Any]:
        """Return the objects in the host's etcd."""
        prefix = f"/registry/{GROUP}/{plural}/"
        return {key.removeprefix(prefix): orjson.loads(pair.value) for key, pair in self.backend.state.items() if key.startswith(prefix)}

    def check(self) -> None:
        """Assert that clients see what they were told is stored and nothing else, and that no object with a finalizer is lost."""
        for plural in PLURALS:
            shown = self.visible(plural)
            held = {key: found for (of, key), found in self.held.items() if of == plural}
            for key, found in (shown or {}).items():
                assert key in held, f"{plural} {key} is shown after its end"
                assert _value(found) == (held[key]["n"], held[key]["finalizers"]), f"an old copy of {plural} {key} is shown"
            stored = self.on_host(plural).keys() | self.objects[f"{plural}.{GROUP}"].keys()
            for key, found in held.items():
                assert shown is None or key in shown or found["doomed"], f"{plural} {key} is not shown"
                assert key in stored or not found["finalizers"], f"{plural} {key} is lost with its finalizer"

    # --- controllers of the host, and apiext --------------------------------------------------------------------------

    def live(self) -> None:
        """Let the host's controllers and apiext do what is due."""
        self._register()
        self._mirror()
        self._delete_instances()
        self._finalize()

    def _register(self) -> None:
        """Keep an APIService for each version, as kube-apiserver does."""
        served = {one["name"] for crd in self.under(CRDS) for one in crd["spec"]["versions"] if one.get("served")}
        found = {one["spec"]["version"]: one for one in self.under(API_SERVICES)}
        for version in served - found.keys():
            path = f"{API_SERVICES}/{version}.{GROUP}"
            self.host[path] = api_service(version, group=GROUP)
            self.host[path]["metadata"]["resourceVersion"] = self._next()
        for version in found.keys() - served:
            if AUTOMANAGED in (found[version]["metadata"].get("labels") or {}):
                del self.host[f"{API_SERVICES}/{version}.{GROUP}"]

    def _mirror(self) -> None:
        for crd in self.under(CRDS):
            metadata = crd["metadata"]
            if metadata.get("deletionTimestamp"):
                self._terminated.add(metadata["uid"])
        super()._mirror()
        for name, mirror in self.mirrors.items():
            crd = self.host.get(f"{CRDS}/{name}")
            uid = mirror["metadata"]["annotations"][host_annotations.HOST_UID]
            if crd is not None and uid == crd["metadata"]["uid"] and mirror["spec"] != crd["spec"]:
                mirror["spec"] = copy.deepcopy(crd["spec"])
            if uid in self._terminated:
                mirror["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def _delete_instances(self) -> None:
        """Delete the objects of terminating mirrors, and the mirrors that have none left."""
        for name, mirror in list(self.mirrors.items()):
            if mirror["metadata"].get("deletionTimestamp"):
                forced = phase_of(mirror) == host_annotations.LEAVING
                left = {key: found for key, found in self.objects[name].items() if found["metadata"].get("finalizers") and not forced}
                self.objects[name] = left
                if not left:
                    del self.mirrors[name]

    def _finalize(self) -> None:
        """Delete the host's own objects of terminating definitions, and the definitions that have none left."""
        for crd in self.under(CRDS):
            metadata = crd["metadata"]
            if not metadata.get("deletionTimestamp"):
                continue
            plural = crd["spec"]["names"]["plural"]
            for key, found in self.on_host(plural).items():
                if not found["metadata"].get("finalizers"):
                    self.put(f"/registry/{GROUP}/{plural}/{key}", None)
            if CLEANUP_FINALIZER in metadata["finalizers"] and not self.on_host(plural):
                metadata["finalizers"] = [one for one in metadata["finalizers"] if one != CLEANUP_FINALIZER]
                metadata["resourceVersion"] = self._next()
            if not metadata["finalizers"]:
                del self.host[f"{CRDS}/{metadata['name']}"]

    # --- requests -----------------------------------------------------------------------------------------------------

    def _stored(self, method: str, path: str, body: Any) -> Answer:
        if method == "GET" and path in {CRDS, API_SERVICES, POLICIES, WEBHOOKS}:
            return 200, {"metadata": {"resourceVersion": "1"}, "items": self.under(path)}
        if method == "POST":
            if path == _EVENTS:
                self.events.append((body["involvedObject"]["name"], body["reason"], body["message"]))
                return 201, body
            body["metadata"] |= {"uid": f"uid-{self._next()}", "resourceVersion": self._next()}
        return super()._stored(method, path, body)

    def ask_host(self, method: str, path: str, body: Any) -> Answer:
        """Return the host's answer; one that does not serve a version has no list of it."""
        listed = _LIST.fullmatch(path.partition("?")[0])
        if listed and method == "GET" and not self.routed.get(listed["version"]):
            versions = self.crd(listed["plural"])["spec"]["versions"] if self.has_crd(listed["plural"]) else ()
            if not any(one["name"] == listed["version"] and one["served"] for one in versions):
                return not_found()
        return super().ask_host(method, path, body)

    def ask_apiext(self, method: str, path: str, body: Any) -> Answer:
        """Return apiext's answer."""
        path = path.partition("?")[0] if path.startswith(CRDS) else path
        if method == "GET" and path == CRDS:
            return 200, {"metadata": {"resourceVersion": "1"}, "items": [*self.mirrors.values()]}
        return super().ask_apiext(method, path, body)

    # --- promises -----------------------------------------------------------------------------------------------------

    def reason(self, plural: str) -> tuple[str, str]:
        """Return status and reason of the condition."""
        found = condition_of(self.crd(plural), host_annotations.CONDITION)
        return found.get("status", ""), found.get("reason", "")

    def names(self, plurals: Iterable[str] = PLURALS) -> list[str]:
        """Return the plurals of definitions that the host has."""
        return [plural for plural in plurals if self.has_crd(plural)]

    def summary(self) -> str:
        """Return the state as text, for the message of a failure."""
        return json.dumps({"host": self.host, "mirrors": {name: one["metadata"] for name, one in self.mirrors.items()}}, indent=1)


async def _no_diagnosis(_group: str) -> str:
    return ""


def _object(key: str, found: Mapping[str, Any]) -> dict[str, Any]:
    namespace, _, name = key.partition("/")
    metadata: dict[str, Any] = {"namespace": namespace, "name": name, "uid": f"uid-{key}"}
    if found["finalizers"]:
        metadata["finalizers"] = found["finalizers"]
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": metadata, "spec": {"n": found["n"]}}


def _value(found: Mapping[str, Any]) -> tuple[Any, Any]:
    return found["spec"]["n"], found["metadata"].get("finalizers") or []
