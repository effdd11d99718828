"""Runs a change of a definition on the reference, and compares what it does to objects with the predictions."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any, Final

from apiext.conversion.none import NoneConverter
from apiext.lab.judgement.applied_configuration import applied_configuration
from apiext.lab.judgement.converters import Converters, JudgedConverter
from apiext.lab.judgement.judge import Judge
from apiext.lab.judgement.judged_definition import JudgedDefinition
from apiext.lab.judgement.writes import LABEL, judge_writes
from apiext.lab.releases.interface import SourceObject
from apiext.managedfields import managers
from apiext.managedfields.structural_types import from_schema
from apiext.meta.errors import StatusError
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import gateway
from tests.support.builders.crds import definition
from tests.support.builders.definition_pairs import AppliedObject, DefinitionPair
from tests.support.judged_objects import manifest

Json = dict[str, Any]
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP: Final = "/apis/pairs.example.com"
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
MARK: Final = "Changed"
_PATIENCE: Final = 60.0


@dataclass
class PredictedRun:
    """One pair on the reference. All differences between predictions and answers are collected."""

    plane: ControlPlane
    pair: DefinitionPair
    plural: str
    conversion: Json = field(default_factory=lambda: {"strategy": "None"})
    """The conversion of the new definition."""
    converter: JudgedConverter = field(default_factory=lambda: JudgedConverter(NoneConverter()))
    compares_configurations: bool = True
    """Whether the objects have all that was applied: no nulls, empty lists, or fields that the storage version lacks."""
    differences: list[str] = field(default_factory=list)
    compared: int = 0
    data: dict[str, bytes] = field(default_factory=dict)
    """The stored bytes of the objects before the change."""
    before: dict[tuple[str, str], Any] = field(default_factory=dict)
    """The objects at each version before the change."""
    refused: dict[str, str] = field(default_factory=dict)
    """The reasons why objects could not be created."""

    def __post_init__(self) -> None:
        marked = [version | {"additionalPrinterColumns": [_column()]} for version in self.pair.new]
        self.new_crd = _named(self.pair.crd(tuple(marked), self.plural))
        self.old_crd = _named(self.pair.crd(self.pair.old, self.plural))
        self.old = JudgedDefinition(definition(self.old_crd), JudgedConverter(NoneConverter()))
        self.new_crd["spec"]["conversion"] = self.conversion
        self.new = JudgedDefinition(definition(self.new_crd), self.converter)
        self.client = self.plane.client

    def path(self, version: str, name: str, subresource: str = "", query: str = "") -> str:
        """Return the path of an object."""
        tail = f"/{subresource}" if subresource else ""
        return f"{GROUP}/{version}/namespaces/default/{self.plural}/{name}{tail}{query}"

    def prepare(self) -> None:
        """Create everything, and change the definition."""
        self.create()
        names = [f"o{index}" for index in range(len(self.pair.objects))]
        self.data = {name: self.stored(name) for name in names if name not in self.refused}
        for name in self.data:
            self.before |= {(version, name): self.client.ask("GET", self.path(version, name))[1] for version in self.old.served}
        self.change()

    def create(self) -> None:
        """Create the old definition and its objects."""
        self.client.must("POST", DEFINITIONS, self.old_crd)
        _until(lambda: all(self.client.ask("GET", f"{GROUP}/{name}/{self.plural}")[0] == 200 for name in self.old.served))
        for index, given in enumerate(self.pair.objects):
            self._create_object(f"o{index}", given)

    def _create_object(self, name: str, given: AppliedObject) -> None:
        for place, spec in enumerate(given.specs):
            path = self.path(given.version, name, query=f"?fieldManager=applier{place}")
            config = manifest(self.old.definition, name, given, spec)
            answers: list[tuple[int, Any]] = []

            def is_answered(path: str = path, config: Json = config, answers: list[tuple[int, Any]] = answers) -> bool:
                answers.append(self.client.ask("PATCH", path, config, APPLY.items()))
                return answers[-1][0] != 404

            _until(is_answered)
            if answers[-1][0] >= 300:
                self.refused[name] = answers[-1][1]["message"]
                return
        if given.status is not None:
            subresource = "status" if "status" in self.old.version(given.version).scopes else ""
            self.client.ask("PATCH", self.path(given.version, name, subresource), {"status": given.status}, MERGE.items())

    def change(self) -> None:
        """Update the definition, and wait until it counts."""
        one = f"{DEFINITIONS}/{self.old_crd['metadata']['name']}"
        current = self.client.must("GET", one)
        dropped = set(current["status"]["storedVersions"]) - {version["name"] for version in self.pair.new}
        if dropped:
            # a server refuses to drop a version while storedVersions name it
            moved = _moved(current["spec"]["versions"])
            self.patch(one, {"spec": {"versions": moved}})
            self.patch(f"{one}/status", {"status": {"storedVersions": [version["name"] for version in moved if version["storage"]]}})
        self.patch(one, {"spec": {"versions": self.new_crd["spec"]["versions"], "conversion": self.conversion}})
        # while an object is unreadable, the cache of the reference answers no lists
        listing = f"{GROUP}/{self.new.served[0]}/namespaces/none/{self.plural}?limit=1"
        _until(lambda: MARK in json.dumps(self.client.ask("GET", listing, None, TABLE.items())[1]))

    def patch(self, path: str, body: Json) -> None:
        """Patch the definition, again until nobody else changes it."""

        def is_done() -> bool:
            code, answer = self.client.ask("PATCH", path, body, MERGE.items())
            assert code in {200, 409}, answer
            return code == 200

        _until(is_done)

    def stored(self, name: str) -> bytes:
        """Return the bytes of an object in etcd."""
        key = f"{self.plane.etcd_prefix}/pairs.example.com/{self.plural}/default/{name}"
        found = gateway(self.plane.etcd_url, "kv/range", key=key.encode())
        return base64.b64decode(found["kvs"][0]["value"])

    def compare(self, what: str, predicted: Any, answer: Any) -> None:
        """Note a difference."""
        self.compared += 1
        if predicted != answer:
            self.differences.append(f"{self.pair.name}: {what}:\n    predicted {json.dumps(predicted)}\n    answered  {json.dumps(answer)}")

    async def compare_all(self) -> None:
        """Compare everything about all objects, and then that nothing happens to those without findings."""
        for name, data in self.data.items():
            await self.judge(name, data)
        harmless = await self._without_findings()
        for name in harmless:
            for version in self.new.served:
                live = self.client.must("GET", self.path(version, name))
                if (version, name) in self.before:
                    self.compare(f"GET {version} {name} without findings", _content(self.before[version, name]), _content(live))
                code, _ = self.client.ask("PATCH", self.path(version, name), {"metadata": {"labels": {LABEL: version}}}, MERGE.items())
                self.compare(f"label at {version} of {name} without findings", 200, code)
                after = self.client.must("GET", self.path(version, name))
                self.compare(f"GET {version} {name} after a label without findings", _content(live), _content(after))
        for name, data in self.data.items():
            if name not in harmless:
                await self.write(name, data)

    async def _without_findings(self) -> list[str]:
        """Return the names of the objects without findings."""
        converters = Converters(self.old.converter, self.new.converter)
        judge = Judge(self.old.definition, self.new.definition, converters=converters)
        objects = [SourceObject(name, json.loads(data), is_stored=True) for name, data in self.data.items()]
        await judge.add(objects)
        report = judge.report()
        found = {name for finding in report.findings for name in finding.examples}
        self.compare("objects without findings", report.unchanged, len(objects) - len(found))
        return [each.key for each in objects if each.key not in found]

    async def judge(self, name: str, data: bytes) -> None:
        """Compare everything about one object."""
        for version in self.new.served:
            (predicted,) = await self.new.read(version, [data])
            code, answer = self.client.ask("GET", self.path(version, name))
            if isinstance(predicted, Exception):
                self.compare(f"GET {version} {name}", 500, code)
                self.compare(f"message of GET {version} {name}", str(predicted) in answer["message"], True)
                continue
            self.compare(f"GET {version} {name}", _plain(predicted), _plain(answer))
            await self._label(version, name, answer)
            await self._apply(version, name, data, answer)
            await self._apply_nothing(version, name, answer)

    async def _label(self, version: str, name: str, live: Json) -> None:
        judged = self.new.version(version)
        writes = judge_writes(judged, live)
        path = self.path(version, name, query="?dryRun=All")
        answer = self.client.ask("PATCH", path, {"metadata": {"labels": {LABEL: "true"}}}, MERGE.items())
        predicted = _refusal(writes.refusal) if writes.written is None else await self._written(version, writes.written)
        self.compare(f"label at {version} of {name}", predicted, _answer(answer))
        if "status" in judged.scopes:
            status = self.client.ask("PUT", self.path(version, name, "status", "?dryRun=All"), live)
            new, _, refusal = judged.update(judged.body(live), live, "status")
            predicted = _refusal(refusal.status) if refusal is not None else await self._written(version, new)
            self.compare(f"status at {version} of {name}", predicted, _answer(status))
        self._create(version, name, live, is_valid=not writes.invalid)

    def _create(self, version: str, name: str, live: Json, *, is_valid: bool) -> None:
        """Compare with a create of a copy with the same status, if it is no subresource."""
        copied = live | {"metadata": {"name": f"{name}-copy", "namespace": "default"}}
        code, answer = self.client.ask("POST", self.path(version, "", query="?dryRun=All").replace("/?", "?"), copied)
        judged = self.new.version(version)
        if "status" in judged.scopes and judged.schema.validate_status(live):
            return
        if code != 500:  # a failed conversion
            self.compare(f"create at {version} of {name}: {answer.get('message', '')}", 201 if is_valid else 422, code)

    async def _apply(self, version: str, name: str, data: bytes, live: Json) -> None:
        found, _ = managers.decode(live["metadata"].get("managedFields") or ())
        for manager, managed in found.items():
            own = managed.version.rpartition("/")[2]
            if manager.operation != "Apply" or own != version or own not in self.old.names:
                continue
            (before,) = await self.old.read(own, [data])
            assert not isinstance(before, Exception)
            structural = self.old.version(own).schema.structural
            config = applied_configuration(from_schema(structural), before, managed.fields)
            given = self.pair.objects[int(name[1:])]
            applied = manifest(self.old.definition, name, given, given.specs[int(manager.name.removeprefix("applier"))])
            if self.compares_configurations:
                self.compare(f"configuration of {manager.name} in {name}", applied, config)
            path = self.path(version, name, query=f"?dryRun=All&fieldManager={manager.name}")
            predicted = await self._applied(version, live, config, manager.name)
            code, answer = self.client.ask("PATCH", path, config, APPLY.items())
            self.compare(f"apply of {manager.name} to {name}", predicted, _answer((code, answer)))

    async def _applied(self, version: str, live: Json, config: Json, manager: str) -> Any:
        judged = self.new.version(version)
        try:
            result = await judged.scopes[""].fields.apply(live, config, manager, force=False)
        except StatusError as error:
            return _refusal(error)
        new, _, refusal = judged.update(result, live)
        if refusal is not None:
            return _refusal(refusal.status)
        return await self._written(version, new)

    async def _written(self, version: str, obj: Json) -> Any:
        """Return the answer to a write of a valid object: what a read of the stored object gives, or the code of the failed conversion."""
        (written,) = await self.new.store(version, [obj])
        if isinstance(written, Exception):
            return [500, _sorted_lines(str(written))]
        (found,) = await self.new.read(version, [written])
        return [500, _sorted_lines(str(found))] if isinstance(found, Exception) else _plain(found)

    async def _apply_nothing(self, version: str, name: str, live: Json) -> None:
        """Compare the apply of another manager, which owns nothing: it may fail because of the other managers."""
        config = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"name": name, "namespace": "default"}}
        code, answer = self.client.ask("PATCH", self.path(version, name, query="?dryRun=All&fieldManager=other"), config, APPLY.items())
        predicted = await self._applied(version, live, config, "other")
        self.compare(f"apply of nothing to {name} at {version}", predicted, _answer((code, answer)))

    async def write(self, name: str, data: bytes) -> None:
        """Compare all reads after a label was set in the last version, and the object in etcd."""
        version = self.new.served[-1]
        (live,) = await self.new.read(version, [data])
        if isinstance(live, Exception):
            return
        writes = judge_writes(self.new.version(version), live)
        if writes.written is None:
            return
        self.client.must("PATCH", self.path(version, name), {"metadata": {"labels": {LABEL: "true"}}}, MERGE.items())
        (written,) = await self.new.store(version, [writes.written])
        assert not isinstance(written, Exception)
        for reader in self.new.served:
            (predicted,) = await self.new.read(reader, [written])
            self.compare(
                f"GET {reader} {name} after a write at {version}",
                _plain(predicted),
                _plain(self.client.must("GET", self.path(reader, name))),
            )

    def delete(self) -> None:
        """Delete the definition. Unreadable objects stay in etcd: they would keep it."""
        for index in range(len(self.pair.objects)):
            key = f"{self.plane.etcd_prefix}/pairs.example.com/{self.plural}/default/o{index}"
            gateway(self.plane.etcd_url, "kv/deleterange", key=key.encode())
        self.client.ask("DELETE", f"{DEFINITIONS}/{self.old_crd['metadata']['name']}")


def _column() -> Json:
    return {"name": MARK, "type": "string", "jsonPath": ".metadata.name"}


def _named(crd: Json) -> Json:
    """Return a definition with names that no other pair has."""
    plural = crd["spec"]["names"]["plural"]
    kind = plural.capitalize()
    crd["spec"]["names"] = {"plural": plural, "singular": plural, "kind": "Widget", "listKind": "WidgetList"} | {
        "kind": kind,
        "listKind": f"{kind}List",
    }
    return crd


def _moved(versions: list[Json]) -> list[Json]:
    """Return the versions with another storage version."""
    other = next(version["name"] for version in versions if not version["storage"])
    return [version | {"storage": version["name"] == other} for version in versions]


def _until(holds: Any) -> None:
    limit = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.05)


def _plain(obj: Any) -> Any:
    """Return an object without what each write changes."""
    if not isinstance(obj, dict):
        return obj
    metadata = {name: value for name, value in obj["metadata"].items() if name not in ("resourceVersion", "managedFields")}
    return json.loads(json.dumps(obj | {"metadata": metadata}, sort_keys=True))


def _content(obj: Json) -> Json:
    return {name: member for name, member in obj.items() if name not in ("apiVersion", "metadata")}


def _refusal(status: StatusError | None) -> Any:
    return None if status is None else [status.code, _sorted_lines(status.message)]


def _answer(found: tuple[int, Any]) -> Any:
    code, body = found
    return _plain(body) if code == 200 else [code, _sorted_lines(body["message"])]


def _sorted_lines(text: str) -> list[str]:
    """Return the lines of a message. The reference lists undeclared fields in any order."""
    return sorted(text.splitlines())
