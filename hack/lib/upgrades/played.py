"""Plays the upgrade of a definition on kube-apiserver by the steps of its plan, and observes the harm to its objects."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from apiext.resources.evaluation.fields import What, differences
from hack.lib.foretell.reference_run import APPLY, DEFINITIONS, MERGE, ReferenceRun
from hack.lib.reference import binaries
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.process import environment
from hack.lib.upgrades.planned import PlannedDefinition
from hack.lib.waiting import until

Json = dict[str, Any]
Harms = dict[str, set[str]]
"""The names of the objects by what happens to them."""
_MANAGER: Final = "applier0"
_SECONDS: Final = 300.0
_TEXT: Final = 160
"""Characters of an answer in a text."""
_OUTPUT: Final = 600
"""Characters of the output of a script that fails."""


class PlayedDefinition:
    """One definition with its objects on kube-apiserver.

    Each object is created twice: the first is upgraded; what writes in one version take away from others is tried on the second before.
    """

    def __init__(self, plane: ControlPlane, planned: PlannedDefinition) -> None:
        pair = planned.pair
        self._plane = plane
        self._planned = planned
        self._size = len(pair.objects)
        self._run = ReferenceRun(plane, replace(pair, objects=(*pair.objects, *pair.objects)))
        self._old, self._new = (
            [version["name"] for version in crd["spec"]["versions"] if version["served"]] for crd in (pair.old, pair.new)
        )
        self._status: dict[tuple[str, str], int] = {}
        """The code of a status update that changes nothing, before the upgrade."""
        self._lost: set[tuple[str, str]] = set()
        """Object and text of what is lost by writes before the upgrade."""
        self.harms: Harms = {}

    def play(self) -> None:
        """Create everything, take the steps, and observe.

        Raises:
            AssertionError: kube-apiserver does not accept the definitions.
        """
        try:
            self._before()
            self._take_steps()
            self._run.change()
            self._after()
        finally:
            self._delete()

    @property
    def objects(self) -> tuple[int, int]:
        """Return the numbers of samples and of generated objects that kube-apiserver has accepted."""
        samples = sum(f"o{place}" in self._run.data for place in range(self._planned.samples))
        return samples, sum(self._is_upgraded(name) for name in self._run.data) - samples

    @property
    def refused(self) -> list[str]:
        """Return why samples were not accepted before the upgrade."""
        return [_line(reason)[:_TEXT] for name, reason in self._run.refused.items() if int(name[1:]) < self._planned.samples]

    def _is_upgraded(self, name: str) -> bool:
        return int(name[1:]) < self._size

    def _delete(self) -> None:
        """Delete the definition. The next upgrade of the project creates it anew."""
        self._run.delete()
        path = f"{DEFINITIONS}/{self._planned.plan.name}"
        until(lambda: self._run.client.ask("GET", path)[0] == HTTPStatus.NOT_FOUND, f"the end of {self._planned.plan.name}")
        self._run.client.close()

    def _before(self) -> None:
        self._run.create()
        for (version, name), live in self._run.before.items():
            if self._is_upgraded(name):
                self._status[version, name] = self._update_status(version, name, live)[0]
            elif version == self._old[0]:
                first = f"o{int(name[1:]) - self._size}"
                self._lost |= {(first, text) for text in self._lost_by_writes(name, self._old, self._old)}

    def _take_steps(self) -> None:
        kubectl = binaries.binary("kubectl")
        with tempfile.TemporaryDirectory(prefix="apiext-upgrades-") as folder:
            script = Path(folder) / "steps.sh"
            script.write_text(self._planned.script)
            own = environment(KUBECONFIG=str(self._plane.kubeconfig), HOME=folder, BREAKING="yes", SETTLE="1", MIGRATOR="1", TIMEOUT="60")
            own["PATH"] = f"{kubectl.parent}:{own['PATH']}"
            done = subprocess.run(["sh", script], env=own, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if done.returncode:
            self.harms["the steps of the plan fail: " + _line(done.stdout + done.stderr)[-_OUTPUT:]] = set(self._run.data)

    def _after(self) -> None:
        kept = [version for version in self._old if version in self._new]
        names = [name for name in self._run.data if self._is_upgraded(name)]
        for version in self._old:
            code, _ = self._run.client.ask("GET", self._run.path(version, query="?limit=1"))
            if code == HTTPStatus.NOT_FOUND:
                self.harms[f"{version} is no longer served"] = set(names)
        for name in names:
            for version in kept:
                self._read_and_update(version, name)
            self._apply(name)
        for name in names:
            for text in self._lost_by_writes(name, self._new, kept):
                if (name, text) not in self._lost:
                    self._note(name, text)

    def _note(self, name: str, text: str) -> None:
        self.harms.setdefault(text, set()).add(name)

    def _read_and_update(self, version: str, name: str) -> None:
        run, key = self._run, (version, name)
        before = run.before[key]
        code, live = run.client.ask("GET", run.path(version, name))
        if code != HTTPStatus.OK:
            self._note(name, f"{version}: a read fails: {_reason(live)}")
            return
        for path in _lost(before, live):
            self._note(name, f"{version}: a read lacks or alters {path}")
        for what, earlier, good, (code, answer) in (
            ("an update of a label", run.labelled[key], HTTPStatus.OK, run.label(version, name)),
            ("an update of the status", self._status[key], HTTPStatus.OK, self._update_status(version, name, live)),
            ("a create", run.created[key], HTTPStatus.CREATED, run.create_copy(version, name, before)),
        ):
            if earlier == good != code:
                self._note(name, f"{version}: {what} is refused: {_reason(answer)}")

    def _update_status(self, version: str, name: str, live: Json) -> tuple[int, Any]:
        return self._run.client.ask("PUT", self._run.path(version, name, "status", "?dryRun=All"), live)

    def _apply(self, name: str) -> None:
        """Repeat the apply that has created an object."""
        run, given = self._run, self._planned.pair.objects[int(name[1:])]
        if given.version not in self._new:
            return
        path = run.path(given.version, name)
        _, live = run.client.ask("GET", path)
        config = given.manifest(self._planned.pair.old, name, 0)
        code, answer = run.client.ask("PATCH", f"{path}?dryRun=All&fieldManager={_MANAGER}", config, APPLY.items())
        if code == HTTPStatus.CONFLICT:  # another manager has the field, and the applier may force
            return
        if code != HTTPStatus.OK:
            self._note(name, f"{given.version}: a repeated apply is refused: {_reason(answer)}")
        elif live.get("kind") != "Status":
            for lost in _lost(live, answer):
                self._note(name, f"{given.version}: a repeated apply removes or alters {lost}")

    def _lost_by_writes(self, name: str, writers: list[str], readers: list[str]) -> list[str]:
        """Return what labels that are set in versions take away from an object, as these or other versions read it."""
        run, found = self._run, []
        for writer in writers:
            earlier = {reader: run.client.ask("GET", run.path(reader, name)) for reader in readers}
            run.client.ask("PATCH", run.path(writer, name), {"metadata": {"labels": {"written-at": writer}}}, MERGE.items())
            for reader, (code, before) in earlier.items():
                now, after = run.client.ask("GET", run.path(reader, name))
                if code == HTTPStatus.OK:
                    lost = _lost(before, after) if now == HTTPStatus.OK else ["the object"]
                    found += [f"{reader}: a write at {writer} removes or alters {path}" for path in lost]
        return found


def _lost(before: Json, after: Json) -> list[str]:
    """Return the paths of content that is missing or other than before."""
    return list(dict.fromkeys(each.path for each in differences(before, after, None) if each.what is not What.ADDED))


def _reason(answer: Any) -> str:
    """Return why a request is refused, without the name of the object."""
    text = str(answer.get("message", answer) if isinstance(answer, dict) else answer)
    return _line(text.rpartition(" is invalid: ")[2])[:_TEXT]


def _line(text: str) -> str:
    return " ".join(text.split())
