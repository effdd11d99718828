"""Carries out a change of a definition with objects on the reference."""

from __future__ import annotations

import base64
import http.client
import json
from typing import Any, Final

from hack.lib.foretell.release_pair import AppliedBodies, ReleasePair
from hack.lib.servers.caller import Answer, Caller, Headers
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import gateway
from hack.lib.waiting import until

Json = dict[str, Any]
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
MARK: Final = "Changed"
LABEL_PATCH: Final = {"metadata": {"labels": {"apiext-plan": "true"}}}
_PATIENCE: Final = 120.0
_TIMEOUT: Final = 60.0


class KeptConnection(Caller):
    """A client that keeps its connection. Not for several threads at a time."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane.url, plane.ca, plane.admin, patience=_TIMEOUT)
        self._connection: http.client.HTTPSConnection | None = None

    def ask(self, method: str, path: str, body: Any = None, headers: Headers = ()) -> Answer:
        """See Caller.ask. A request over a connection that the server has closed is sent again."""
        headers = list(headers)
        for is_last in (False, True):
            self._connection = self._connection or self.connect()
            try:
                response = self.send(self._connection, method, path, body, headers)
                data = response.read()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.close()
                if is_last:
                    raise
                continue
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(data) if is_json else data.decode()
        raise AssertionError

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class ReferenceRun:
    """One pair of definitions on the reference."""

    def __init__(self, plane: ControlPlane, pair: ReleasePair) -> None:
        self.plane = plane
        self.pair = pair
        self.client = KeptConnection(plane)
        self.new_crd = _marked(pair.new)
        spec = pair.old["spec"]
        self._group, self._plural = spec["group"], spec["names"]["plural"]
        self._is_namespaced = spec["scope"] == "Namespaced"
        self._one = f"{DEFINITIONS}/{pair.old['metadata']['name']}"
        self.live: Json = {}
        """The old definition as the reference has it."""
        self.data: dict[str, bytes] = {}
        """The stored bytes of the objects before the change."""
        self.before: dict[tuple[str, str], Json] = {}
        """The objects at each version before the change."""
        self.labelled: dict[tuple[str, str], int] = {}
        """The code of an update of a label at each version before the change."""
        self.created: dict[tuple[str, str], int] = {}
        """The code of a create of a copy at each version before the change."""
        self.refused: dict[str, str] = {}
        """The reasons why objects could not be created."""

    def path(self, version: str, name: str = "", subresource: str = "", query: str = "", *, namespace: str = "default") -> str:
        """Return the path of an object, or of all objects."""
        folder = f"namespaces/{namespace}/" if self._is_namespaced else ""
        parts = (f"/apis/{self._group}/{version}/{folder}{self._plural}", name, subresource)
        return "/".join(filter(None, parts)) + query

    def create(self) -> None:
        """Create the old definition and its objects, and read them."""
        self.client.must("POST", DEFINITIONS, self.pair.old)
        served = [version["name"] for version in self.pair.old["spec"]["versions"] if version["served"]]
        until(lambda: all(self.client.ask("GET", self.path(name))[0] == http.HTTPStatus.OK for name in served), patience=_PATIENCE)
        for index, given in enumerate(self.pair.objects):
            self._create_object(f"o{index}", given)
        self.live = self.client.must("GET", self._one)
        names = [name for name in (f"o{index}" for index in range(len(self.pair.objects))) if name not in self.refused]
        self.data = {name: self._stored(name) for name in names}
        for name in names:
            for version in served:
                live = self.before[version, name] = self.client.must("GET", self.path(version, name))
                self.labelled[version, name] = self.label(version, name)[0]
                self.created[version, name] = self.create_copy(version, name, live)[0]

    def _create_object(self, name: str, given: AppliedBodies) -> None:
        for place in range(len(given.bodies)):
            path = self.path(given.version, name, query=f"?fieldManager=applier{place}")
            code, answer = self._apply(path, given.manifest(self.pair.old, name, place))
            if code not in (http.HTTPStatus.OK, http.HTTPStatus.CREATED):
                self.refused[name] = answer["message"]
                return
        if given.status is not None:
            subresource = "status" if self._has_status(given.version) else ""
            self.client.ask("PATCH", self.path(given.version, name, subresource), {"status": given.status}, MERGE.items())

    def _apply(self, path: str, config: Json) -> Answer:
        """Apply, again while the definition is not served."""
        found: list[Answer] = []

        def is_answered() -> bool:
            found.append(self.client.ask("PATCH", path, config, APPLY.items()))
            return found[-1][0] != http.HTTPStatus.NOT_FOUND

        until(is_answered, patience=_PATIENCE)
        return found[-1]

    def _has_status(self, name: str) -> bool:
        versions = self.pair.old["spec"]["versions"]
        return any("status" in (version.get("subresources") or {}) for version in versions if version["name"] == name)

    def label(self, version: str, name: str) -> Answer:
        """Set a label in a trial run."""
        return self.client.ask("PATCH", self.path(version, name, query="?dryRun=All"), LABEL_PATCH, MERGE.items())

    def create_copy(self, version: str, name: str, live: Json) -> Answer:
        """Create a copy of an object in a trial run."""
        return self.client.ask("POST", self.path(version, query="?dryRun=All"), _copied(name, live))

    def create_copy_with_status(self, version: str, name: str, live: Json) -> Answer:
        """Create a copy of an object, give it its status in a trial run, and delete it. The code of a status that is accepted is 201."""
        copy = f"{name}-copy"
        made = self.client.must("POST", self.path(version), _copied(name, live))
        code, answer = self.client.ask("PUT", self.path(version, copy, "status", "?dryRun=All"), made | {"status": live["status"]})
        self.client.must("DELETE", self.path(version, copy))
        return (http.HTTPStatus.CREATED if code == http.HTTPStatus.OK else code), answer

    def try_change(self, crd: Json) -> list[str]:
        """Return the reasons why the reference refuses a definition as an update, found in a trial run; none if it accepts it."""
        found: list[list[str]] = []

        def is_answered() -> bool:
            code, answer = self.client.ask("PUT", f"{self._one}?dryRun=All", self._next(crd))
            if code == http.HTTPStatus.OK:
                found.append([])
            elif code != http.HTTPStatus.CONFLICT:
                causes = (answer.get("details") or {}).get("causes") or ()
                reasons = [": ".join(filter(None, (cause.get("field"), cause["message"]))) for cause in causes]
                found.append(reasons or [answer["message"]])
            return bool(found)

        until(is_answered, patience=_PATIENCE)
        return found[0]

    def _next(self, crd: Json) -> Json:
        """Return a definition as an update of what the reference has."""
        current: Json = self.client.must("GET", self._one)
        return current | {"spec": crd["spec"], "metadata": current["metadata"] | {"annotations": crd["metadata"].get("annotations")}}

    def change(self) -> None:
        """Update the definition, and wait until it counts. A version that storedVersions name is dropped all the same."""
        current = self.client.must("GET", self._one)
        dropped = set(current["status"]["storedVersions"]) - set(self.pair.versions)
        if dropped:
            # a server refuses to drop a version while storedVersions name it
            moved = _moved(current["spec"]["versions"], self.pair.versions)
            self._replace("", "spec", {"versions": moved})
            self._replace("/status", "status", {"storedVersions": [version["name"] for version in moved if version["storage"]]})
        spec = self.new_crd["spec"]
        self._replace("", "spec", {name: spec[name] for name in ("versions", "conversion") if name in spec})
        # while an object is unreadable, the cache of the reference answers no lists
        served = next(version["name"] for version in spec["versions"] if version["served"])
        listing = self.path(served, namespace="none", query="?limit=1")
        until(lambda: MARK in json.dumps(self.client.ask("GET", listing, None, TABLE.items())[1]), patience=_PATIENCE)

    def _replace(self, subresource: str, part: str, members: Json) -> None:
        """Replace members of a part of the definition, again until nobody else changes it. A merge patch would drop nulls in defaults."""

        def is_done() -> bool:
            current = self.client.must("GET", self._one)
            code, answer = self.client.ask("PUT", self._one + subresource, current | {part: current[part] | members})
            assert code in {http.HTTPStatus.OK, http.HTTPStatus.CONFLICT}, answer
            return code == http.HTTPStatus.OK

        until(is_done, patience=_PATIENCE)

    def _key(self, name: str) -> bytes:
        folder = "default/" if self._is_namespaced else ""
        return f"{self.plane.etcd_prefix}/{self._group}/{self._plural}/{folder}{name}".encode()

    def _stored(self, name: str) -> bytes:
        """Return the bytes of an object in etcd."""
        found = gateway(self.plane.etcd_url, "kv/range", key=self._key(name))
        return base64.b64decode(found["kvs"][0]["value"])

    def delete(self) -> None:
        """Delete the definition. Unreadable objects stay in etcd: they would keep it."""
        for index in range(len(self.pair.objects)):
            gateway(self.plane.etcd_url, "kv/deleterange", key=self._key(f"o{index}"))
        self.client.ask("DELETE", self._one)
        self.client.close()


def _marked(crd: Json) -> Json:
    """Return a definition with a printer column that shows when it counts."""
    column = {"name": MARK, "type": "string", "jsonPath": ".metadata.name"}
    versions = [version | {"additionalPrinterColumns": [column]} for version in crd["spec"]["versions"]]
    return crd | {"spec": crd["spec"] | {"versions": versions}}


def _moved(versions: list[Json], kept: list[str]) -> list[Json]:
    """Return the versions with a storage version that is kept."""
    other = next(version["name"] for version in versions if version["name"] in kept)
    return [version | {"storage": version["name"] == other} for version in versions]


def _copied(name: str, live: Json) -> Json:
    kept = {member: value for member, value in live["metadata"].items() if member == "namespace"}
    return live | {"metadata": {"name": f"{name}-copy"} | kept}
