"""Runs a change of a definition on the reference, and compares what it does to objects with the predictions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from apiext.base.meta.errors import StatusError
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.applied_configuration import applied_configuration
from apiext.resources.evaluation.compiled_definition import CompiledDefinition, DefinitionConverter
from apiext.resources.evaluation.fields import What
from apiext.resources.managedfields import managers
from apiext.resources.managedfields.structural_types import from_schema
from apiext.tools.judgement.writes import LABEL, judge_writes
from hack.lib.foretell.foretold_harm import ForetoldHarm, is_harmless_apply
from hack.lib.foretell.reference_run import APPLY, LABEL_PATCH, MERGE, ReferenceRun
from hack.lib.foretell.release_pair import ReleasePair
from hack.lib.foretell.tally import Tally
from hack.lib.servers.caller import Answer
from hack.lib.servers.controlplane import ControlPlane

Json = dict[str, Any]
_CHANGING: Final = ("resourceVersion", "managedFields")
"""Members of the metadata that each write changes."""
_PARTS: Final = re.compile(r", |\n|\[|\]$")
_UNDECLARED: Final = "field not declared in schema"


class PredictedRun:
    """One pair on the reference. All differences between predictions and answers are collected.

    `compares_configurations`: the objects have all that was applied: no nulls, empty lists, or fields that the storage version lacks.
    """

    def __init__(
        self,
        plane: ControlPlane,
        pair: ReleasePair,
        old: Definition,
        new: Definition,
        *,
        converter: DefinitionConverter | None = None,
        compares_configurations: bool = True,
    ) -> None:
        self.pair = pair
        self.reference = ReferenceRun(plane, pair)
        self.old = CompiledDefinition(old)
        self.new = CompiledDefinition(new, converter or DefinitionConverter(NoneConverter()))
        self.tally = Tally()
        self._compares_configurations = compares_configurations
        self.harmed: list[str] = []
        """What the change did to objects."""
        self._harm: ForetoldHarm | None = None
        self._known_harm: set[tuple[str, str, str]] = set()
        """Version, object and manager of repeated applies that already take something away before the change."""

    def prepare(self) -> None:
        """Create everything, and change the definition."""
        self.create()
        self.reference.change()

    def create(self) -> None:
        """Create the old definition and its objects, and try repeated applies."""
        self.reference.create()
        for (version, name), live in self.reference.before.items():
            schema = self.old.version(version).schema.structural
            for manager, config in self._configurations(version, live):
                code, answer = self._try_apply(version, name, manager, config)
                if not is_harmless_apply(schema, live, code, answer):
                    self._known_harm.add((version, name, manager))

    def _configurations(self, version: str, before: Json) -> Iterator[tuple[str, Json]]:
        """Yield the managers that apply an object in a version, and what they apply under the old definition."""
        found, _ = managers.decode(before["metadata"].get("managedFields") or ())
        for manager, managed in found.items():
            if manager.operation == "Apply" and managed.version.rpartition("/")[2] == version:
                structural = self.old.version(version).schema.structural
                yield manager.name, applied_configuration(from_schema(structural), before, managed.fields)

    def _try_apply(self, version: str, name: str, manager: str, config: Json) -> Answer:
        path = self.reference.path(version, name, query=f"?dryRun=All&fieldManager={manager}")
        return self.reference.client.ask("PATCH", path, config, APPLY.items())

    @property
    def data(self) -> dict[str, bytes]:
        """Return the stored bytes of the objects before the change."""
        return self.reference.data

    def compare(self, kind: str, what: str, predicted: Any, answer: Any) -> None:
        """Note a difference."""
        self.tally.compare(kind, f"{self.pair.name}: {what}", predicted, answer)

    async def compare_all(self) -> None:
        """Compare everything about all objects: first reads and trial runs, then writes."""
        self._harm = await ForetoldHarm.judge(self.old, self.new, self.data)
        self.tally.findings.update(self._harm.kinds())
        for name, data in self.data.items():
            await self.judge(name, data)
        for name, data in self.data.items():
            await self.write(name, data)
        for name in self._harm.unchanged():
            self._write_unchanged(name)

    def _write_unchanged(self, name: str) -> None:
        """Compare the content of an object without findings before and after a label is set in each version."""
        ask, path = self.reference.client.ask, self.reference.path
        for version in self.new.served:
            live = self.reference.client.must("GET", path(version, name))
            code, _ = ask("PATCH", path(version, name), {"metadata": {"labels": {LABEL: version}}}, MERGE.items())
            self.compare("write without findings", f"label at {version} of {name}", HTTPStatus.OK, code)
            after = self.reference.client.must("GET", path(version, name))
            self.compare("write without findings", f"GET {version} {name}", _content(live), _content(after))

    async def judge(self, name: str, data: bytes) -> None:
        """Compare everything about one object that is not written."""
        for version in self.new.served:
            (predicted,) = await self.new.read(version, [data])
            code, answer = self.reference.client.ask("GET", self.reference.path(version, name))
            harm = self._harm
            if harm is not None:
                self.compare("readable", f"GET {version} {name}", harm.is_readable(version, name), code == HTTPStatus.OK)
            if code != HTTPStatus.OK and (version, name) in self.reference.before:
                self.harmed.append(f"GET {version} {name}: {code}")
            if isinstance(predicted, Exception):
                self.compare("read", f"GET {version} {name}", HTTPStatus.INTERNAL_SERVER_ERROR, code)
                self.compare(
                    "read",
                    f"message of GET {version} {name}: {predicted}",
                    "named",
                    "named" if str(predicted) in answer["message"] else answer["message"],
                )
                continue
            self.compare("read", f"GET {version} {name}", _plain(predicted), _plain(answer))
            before = self.reference.before.get((version, name))
            if harm is not None and before is not None and code == HTTPStatus.OK:
                found = harm.differences(version, before, answer)
                self.compare("changes of reads", f"GET {version} {name}", harm.of_read(version, name), found)
                self.harmed += [f"GET {version} {name}: {path} {what}" for what, path in found if what != What.ADDED.value]
            await self._label(version, name, answer)
            await self._apply(version, name, data, answer)
            await self._apply_nothing(version, name, answer)

    async def _label(self, version: str, name: str, live: Json) -> None:
        judged = self.new.version(version)
        writes = judge_writes(judged, live)
        answer = self.reference.label(version, name)
        predicted = _refusal(writes.refusal) if writes.written is None else await self._written(version, writes.written)
        self.compare("label", f"label at {version} of {name}", predicted, _answer(answer))
        if self._harm is not None:
            passes = answer[0] == HTTPStatus.OK
            if not passes and self.reference.labelled.get((version, name)) == HTTPStatus.OK:
                self.harmed.append(f"label at {version} of {name}: {answer[1]['message']}")
            self.compare("stuck", f"label at {version} of {name}", self._harm.is_updatable(version, name), passes)
        if judged.has("status"):
            path = self.reference.path(version, name, "status", "?dryRun=All")
            status = self.reference.client.ask("PUT", path, live)
            predicted = await self._status(version, live)
            self.compare("status", f"status at {version} of {name}", predicted, _answer(status))
            if self._harm is not None:
                expected = self._harm.is_updatable(version, name, "status")
                self.compare("stuck status", f"status at {version} of {name}", expected, status[0] == HTTPStatus.OK)
        self._create(version, name, live, is_valid=not writes.invalid)

    async def _status(self, version: str, live: Json) -> Any:
        """Return the predicted answer to a status update that changes nothing."""
        judged = self.new.version(version)
        try:
            body = judged.body(live)
        except ValueError:
            return None
        new, _, refusal = judged.update(body, live, "status")
        return _refusal(refusal.status) if refusal is not None else await self._written(version, new)

    def _create(self, version: str, name: str, live: Json, *, is_valid: bool) -> None:
        """Compare with a create of a copy, and then of its status if that is a subresource."""
        code, answer = self.reference.create_copy(version, name, live)
        if code != HTTPStatus.CREATED and self.reference.created.get((version, name)) == HTTPStatus.CREATED:
            self.harmed.append(f"create at {version} of {name}: {answer['message']}")
        judged = self.new.version(version)
        has_status = judged.has("status") and "status" in live
        # rules about changes see that the copy had no status
        sets_status = has_status and not self.new.converter.is_webhook and "oldSelf" not in json.dumps(judged.schema.structural.raw)
        if has_status and not sets_status and not is_valid:
            return
        if code == HTTPStatus.CREATED and sets_status:
            code, answer = self.reference.create_copy_with_status(version, name, live)
        if code != HTTPStatus.INTERNAL_SERVER_ERROR:  # a failed conversion
            expected = HTTPStatus.CREATED if is_valid else HTTPStatus.UNPROCESSABLE_ENTITY
            self.compare("create", f"create at {version} of {name}: {answer.get('message', '')}", expected, code)

    async def _apply(self, version: str, name: str, data: bytes, live: Json) -> None:
        if version not in self.old.served:
            return
        (before,) = await self.old.read(version, [data])
        assert not isinstance(before, Exception)
        for manager, config in self._configurations(version, before):
            if self._compares_configurations:
                given = self.pair.objects[int(name[1:])]
                applied = given.manifest(self.pair.old, name, int(manager.removeprefix("applier")))
                self.compare("configuration", f"configuration of {manager} in {name}", applied, config)
            predicted = await self._applied(version, live, config, manager)
            code, answer = self._try_apply(version, name, manager, config)
            what = f"apply of {manager} to {name} at {version}"
            self.compare("apply", what, predicted, _answer((code, answer)))
            if self._harm is not None and (version, name, manager) not in self._known_harm:
                schema, of_any_write = self.new.version(version).schema.structural, self._harm.of_write(version, name)
                is_harmless = is_harmless_apply(schema, live, code, answer, of_any_write)
                if not is_harmless and code != HTTPStatus.CONFLICT:
                    self.harmed.append(f"{what}: {answer.get('message', 'takes something away')}")
                self.compare("harm of applies", what, self._harm.of_apply(version, name, manager), is_harmless)

    async def _applied(self, version: str, live: Json, config: Json, manager: str) -> Any:
        judged = self.new.version(version)
        try:
            result = await judged.fields().apply(live, config, manager, force=False)
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
            return [HTTPStatus.INTERNAL_SERVER_ERROR, _parts(str(written))]
        (found,) = await self.new.read(version, [written])
        return [HTTPStatus.INTERNAL_SERVER_ERROR, _parts(str(found))] if isinstance(found, Exception) else _plain(found)

    async def _apply_nothing(self, version: str, name: str, live: Json) -> None:
        """Compare the apply of another manager, which owns nothing: it may fail because of the other managers."""
        config = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"name": name, "namespace": "default"}}
        path = self.reference.path(version, name, query="?dryRun=All&fieldManager=other")
        answer = self.reference.client.ask("PATCH", path, config, APPLY.items())
        predicted = await self._applied(version, live, config, "other")
        self.compare("apply of nothing", f"apply of nothing to {name} at {version}", predicted, _answer(answer))

    async def write(self, name: str, data: bytes) -> None:
        """Compare all reads after a label was set in the last version."""
        version = self.new.served[-1]
        (live,) = await self.new.read(version, [data])
        if isinstance(live, Exception):
            return
        writes = judge_writes(self.new.version(version), live)
        if writes.written is None:
            return
        ask, path = self.reference.client.ask, self.reference.path
        earlier = {reader: ask("GET", path(reader, name)) for reader in self.new.served}
        code, answer = ask("PATCH", path(version, name), LABEL_PATCH, MERGE.items())
        self.compare("write", f"label at {version} of {name}: {answer.get('message', '')}", HTTPStatus.OK, code)
        (written,) = await self.new.store(version, [writes.written])
        assert not isinstance(written, Exception)
        for reader in self.new.served:
            (predicted,) = await self.new.read(reader, [written])
            code, answer = ask("GET", path(reader, name))
            what = f"GET {reader} {name} after a write at {version}"
            self.compare("read after a write", what, _plain(predicted), _plain(answer))
            if self._harm is not None and code == earlier[reader][0] == HTTPStatus.OK:
                found = self._harm.differences(reader, earlier[reader][1], answer)
                foretold = self._harm.of_write(version, name)
                unforeseen = [each for each in found if each not in foretold]
                self.compare("lost by writes", what, [], unforeseen)

    def delete(self) -> None:
        """Delete the definition and its objects."""
        self.reference.delete()


def _plain(obj: Any) -> Any:
    """Return an object without what each write changes."""
    if not isinstance(obj, dict) or obj.get("kind") == "Status":
        return obj
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _CHANGING}
    return json.loads(json.dumps(obj | {"metadata": metadata}, sort_keys=True))


def _content(obj: Json) -> Json:
    return {name: member for name, member in obj.items() if name not in ("apiVersion", "metadata")}


def _refusal(status: StatusError | None) -> Any:
    return None if status is None else [status.code, _parts(status.message)]


def _answer(found: tuple[int, Any]) -> Any:
    code, body = found
    return _plain(body) if code == HTTPStatus.OK else [code, _parts(body["message"])]


def _parts(text: str) -> list[str]:
    """Return the parts of a message. The reference lists rules of different fields in any order.

    Of undeclared fields, it names some: it stops at the first one of a map, whose fields it takes in any order.
    """
    if _UNDECLARED in text:
        return [*sorted(text.partition("Kind=")[0].splitlines()), _UNDECLARED]
    return sorted(_PARTS.split(text))
