"""Sets a label on objects in a version, as any client may do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.lab.judgement.outcome import FindingKind
from apiext.lab.replay.known_reads import LABEL
from apiext.lab.replay.outcome import ProblemKind
from apiext.lab.replay.server_client import RefusedError, for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.definitions.definition import Definition
    from apiext.lab.judgement.outcome import ObjectFinding
    from apiext.lab.replay.observations import Observations
    from apiext.lab.replay.server_client import ServerClient

MAX_WRITES: Final = 5000
"""Updates up to which each object is updated in each served version; above, each object in one of them."""
_INDEX: Final = re.compile(r"\[\d+\]")


def rounds_of(keys: Sequence[str], versions: Sequence[str]) -> list[dict[str, str]]:
    """Return the rounds of updates, each with the version for the keys of its objects."""
    if len(keys) * len(versions) <= MAX_WRITES:
        return [dict.fromkeys(keys, version) for version in versions]
    return [{key: versions[place % len(versions)] for place, key in enumerate(keys)}]


class LabelWrites:
    """Updates of labels in one transition."""

    def __init__(self, server: ServerClient, definition: Definition, observations: Observations) -> None:
        self._server = server
        self._definition = definition
        self._observations = observations
        self._number = 0
        self._refused: dict[str, set[str]] = {}

    async def write(self, targets: dict[str, str], on_object: Callable[[int], None]) -> None:
        """Set the label to a new value on objects, each in the version of its key."""
        self._number += 1
        patch = {"metadata": {"labels": {LABEL: f"r{self._number}"}}}
        problems: list[tuple[str, str, str, str]] = []

        async def update(key: str) -> None:
            version = targets[key]
            try:
                await self._server.patch(self._definition, version, key, patch)
            except RefusedError as error:
                self._refused.setdefault(version, set()).add(key)
                causes = error.causes or [("", str(error).replace(key.rpartition("/")[2], "NAME"))]
                problems.extend((version, _INDEX.sub("[]", path), _INDEX.sub("[]", text), key) for path, text in causes)
            on_object(1)

        await for_each(targets, update)
        for version, path, text, key in sorted(problems):
            self._observations.add(ProblemKind.REFUSED, version, path, f"an update of a label is refused: {text}", key)

    def add_accepted(self, findings: Sequence[ObjectFinding], versions: Sequence[str]) -> None:
        """Add the versions in which fewer updates were refused than the plan says. All objects must have been updated in them."""
        for version in versions:
            counts = [finding.count for finding in findings if finding.kind is FindingKind.STUCK and finding.version == version]
            refused = len(self._refused.get(version, ()))
            if counts and refused < max(counts):
                text = f"{refused} updates of a label are refused, the plan says {max(counts)}"
                self._observations.add(ProblemKind.ACCEPTED, version, "", text)
