"""Plays the chapters on a deployment, with clients and kills, and compares stored with acknowledged objects."""

import http
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from hack.lib.differential.pair import Side
from hack.lib.life import transcript
from hack.lib.life.administrator import Administrator
from hack.lib.life.chapters import CHAPTERS, Chapter
from hack.lib.life.clients import APPLY, Client, Fields, Findings, Owner, Reader, read
from hack.lib.life.definition import path
from hack.lib.life.deployments import Deployment, reference
from hack.lib.life.faults import LONGEST_LIFE, Faults
from hack.lib.life.time_limits import TimeLimits
from hack.lib.life.transcript import Line
from hack.lib.soak.follower import Follower
from hack.lib.soak.writer import settle
from hack.lib.waiting import until

_OWNERS: Final = 4
_WRITES: Final = 50
"""Minimum of acknowledged writes in a chapter."""
_EVENTS_WITHIN: Final = 60.0
"""Maximum of seconds until a resumed watch shows the stored state."""
_SAMPLES: Final = frozenset({transcript.SAMPLE, transcript.HIGH, transcript.BELL})


class Story:
    """The life on one deployment, with a number of permanent `objects`, and `kills` in each chapter. `findings` has the clients' counts.

    Without objects there are no clients. `longest_life` is the maximum of seconds until a kill, `interval` those before each step of a
    client. `progress` gets a line after each chapter.
    """

    def __init__(
        self,
        deployment: Deployment,
        objects: int,
        kills: int = 5,
        longest_life: float = LONGEST_LIFE,
        interval: float = 0.0,
        progress: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._deployment = deployment
        self._objects = objects
        self._progress = progress
        self._limits = TimeLimits(objects)
        self._administrator = Administrator(deployment, self._limits)
        self._served: tuple[str, ...] = ()
        self.findings = Findings()
        access = deployment.access
        self._owners = [Owner(access, lambda: self._served, self.findings, f"o{number}") for number in range(_OWNERS)]
        reader = Reader(access, lambda: self._served, self.findings, lambda: {name for owner in self._owners for name in owner.staying})
        self._clients: list[Client] = [*self._owners, reader] if objects else []
        for client in self._clients:
            client.interval = interval
        self._followers: dict[str, Follower[Fields]] = {}
        self.faults = Faults(deployment.victims, kills, longest_life)

    def play(self) -> list[Line]:
        """Play all chapters, and return the answers to the questions of each.

        Raises:
            AssertionError: A chapter cannot be finished in time.
        """
        lines = []
        self._limits.begin()
        side = Side(f"https://127.0.0.1:{self._deployment.access.port}", self._deployment.access.authenticated)
        with closing(side):
            try:
                for number, chapter in enumerate(CHAPTERS):
                    start = time.monotonic()
                    if number == 0:
                        self._begin(chapter, side)
                    else:
                        self._play(chapter)
                    self._compare(chapter)
                    lines += transcript.ask_all(side, chapter)
                    self._progress(f"{chapter.title}: {time.monotonic() - start:.0f} s")
            finally:
                self._pause()
                for version in tuple(self._followers):
                    self._unfollow(version)
        self.findings.problems += self.faults.problems
        return lines

    def _begin(self, chapter: Chapter, side: Side) -> None:
        """Create the definition and the permanent objects."""
        self._administrator.begin(chapter)
        transcript.create_samples(side)
        for owner in self._owners:
            owner.populate(self._objects // _OWNERS, chapter.storage)
        self._change_served(chapter.served)

    def _play(self, chapter: Chapter) -> None:
        """Change the definition while clients work and programs are killed."""
        before, kills, left = self.findings.writes, self.faults.kills, self._limits.left
        self._change_served(tuple(version for version in self._served if version in chapter.served))
        for client in self._clients:
            client.start()
        self.faults.start()
        self._administrator.begin(chapter)
        self._change_served(chapter.served)
        self._administrator.finish(chapter)
        until(lambda: not self._clients or self.findings.writes >= before + _WRITES, f"writes in: {chapter.title}", patience=left())
        if self._deployment.victims:
            until(lambda: self.faults.kills > kills or bool(self.faults.problems), f"a kill in: {chapter.title}", patience=left())
        self._pause()
        until(lambda: all(self._answers(version) for version in chapter.served), f"answers after: {chapter.title}", patience=left())

    def _pause(self) -> None:
        self.faults.pause()
        for client in self._clients:
            client.pause()

    def _change_served(self, served: Sequence[str]) -> None:
        """Let clients use other versions, and follow exactly these."""
        self._served = tuple(served)
        for version in set(self._followers) - set(served):
            self._unfollow(version)
        for version in set(served) - set(self._followers):
            self._followers[version] = Follower(self._deployment.access, path(version), read)
            self._followers[version].start()

    def _unfollow(self, version: str) -> None:
        follower = self._followers.pop(version)
        follower.pause()
        self.findings.problems += [f"watch in {version}: {problem}" for problem in follower.problems]

    def _answers(self, version: str) -> bool:
        """Report whether writes of the samples in a version succeed, including all conversions.

        An apply needs the conversion of its managers. Servers that found the webhook silent call it again a little later.
        """
        for name in _SAMPLES:
            where = f"{path(version, name)}?dryRun=All&fieldManager=asker&force=true"
            applied = Fields().body(name, version) | {"spec": {"tags": {"probe": "x"}}}
            code, answer = self._deployment.admin.ask("PATCH", where, applied, APPLY.items())
            if code != http.HTTPStatus.OK and "invalid group/version" not in str(answer):
                return False
        return True

    def _compare(self, chapter: Chapter) -> None:
        """Compare the stored objects and the events of the watches with the acknowledged writes."""
        for version in chapter.served:
            found = self._stored(version)
            for owner in self._owners:
                self.findings.doubts += len(owner.doubts)
                self.findings.problems += settle(owner.held, owner.doubts, found, lambda fields: fields)
            if strangers := found.keys() - {name for owner in self._owners for name in owner.held} - _SAMPLES:
                self.findings.problems.append(f"{chapter.title}: nobody created {sorted(strangers)[:3]}")
        revisions = [revision for owner in self._owners for revision in owner.revisions]
        for version, follower in self._followers.items():
            self._compare_watch(chapter, version, follower, revisions)
        for owner in self._owners:
            owner.revisions.clear()

    def _compare_watch(self, chapter: Chapter, version: str, follower: Follower[Fields], revisions: list[int]) -> None:
        found = self._stored(version)
        seen: dict[str, Fields] = {}

        def caught_up() -> bool:
            seen.clear()
            seen.update({name: fields for name, (fields, _) in dict(follower.items).items()})
            return seen == found

        try:
            until(caught_up, patience=_EVENTS_WITHIN)
        except AssertionError:
            wrong = sorted(name for name in found.keys() | seen.keys() if found.get(name) != seen.get(name))
            problem = f"{chapter.title}: the watch in {version} is wrong about {len(wrong)} objects, such as {wrong[:3]}"
            self.findings.problems.append(problem)
        if missed := follower.missed(revisions):
            self.findings.problems.append(f"{chapter.title}: the watch in {version} missed {len(missed)} events, such as {missed[:3]}")

    def _stored(self, version: str) -> dict[str, Fields]:
        """Return the fields of all objects by name."""
        found: dict[str, Fields] = {}
        more = ""
        while True:
            answer = self._deployment.admin.must("GET", f"{path(version)}?limit=1000&continue={more}")
            found |= {item["metadata"]["name"]: read(item) for item in answer["items"]}
            more = answer["metadata"].get("continue", "")
            if not more:
                return found


def reference_lines(folder: Path) -> list[Line]:
    """Play the life on the reference without clients: it may store their writes in a version that a migration has just retired.

    Return its answers.

    Raises:
        AssertionError: The reference loses something, or does not finish.
    """
    with reference(folder) as deployment:
        story = Story(deployment, 0)
        lines = story.play()
    assert not story.findings.problems, story.findings.problems
    return lines
