"""Repeats the server-side applies of the objects' managers after a release, as a dry run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.resources.evaluation.applied_configuration import APPLIED, SCALE, owners_of
from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.fields import What, differences, text_differences
from apiext.tools.replay.known_reads import without_own
from apiext.tools.replay.outcome import ProblemKind
from apiext.tools.replay.server_client import RefusedError, for_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.evaluation.applied_configuration import FieldOwner
    from apiext.tools.replay.known_reads import KnownReads
    from apiext.tools.replay.observations import Observations
    from apiext.tools.replay.server_client import ServerClient

MAX_OBJECTS: Final = 500
"""Objects whose applies are repeated; of more, an even choice."""
_INDEX: Final = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class _Apply:
    """What a manager has applied."""

    key: str
    version: str
    manager: str
    subresource: str
    config: Object


class RepeatedApplies:
    """The applies of the managers that the objects have before a release."""

    def __init__(self, definition: Definition, reads: KnownReads, count: int) -> None:
        """Collect the configurations from the last reads. There are `count` objects."""
        self._compiled = CompiledDefinition(definition)
        self._every = max(1, -(-count // MAX_OBJECTS))
        self.is_partial = self._every > 1
        self._applies = [found for version in definition.served_versions for found in self._collect(definition, version.name, reads)]

    async def repeat(self, server: ServerClient, definition: Definition, reads: KnownReads, observations: Observations) -> None:
        """Apply all configurations, and add what fails or would change an object as it was last read."""
        now = CompiledDefinition(definition)
        wanted = {(each.version, each.key) for each in self._applies}
        versions = {version for version, _ in wanted}
        live = {(version, key): obj for version in versions for key, obj in reads.last(definition, version) if (version, key) in wanted}
        found: list[tuple[_Apply, str, str]] = []

        async def apply(place: str) -> None:
            each = self._applies[int(place)]
            found.extend((each, path, text) for path, text in await _problems(server, now, each, live[each.version, each.key]))

        await for_each(map(str, range(len(self._applies))), apply)
        for each, path, text in sorted(found, key=lambda one: (one[0].version, one[1], one[2], one[0].key)):
            observations.add(ProblemKind.APPLY, each.version, path, f"a repeated apply by {each.manager or 'unknown'} {text}", each.key)

    def _collect(self, definition: Definition, version: str, reads: KnownReads) -> Iterator[_Apply]:
        label = f"{definition.group}/{version}"
        for place, (key, obj) in enumerate(reads.last(definition, version)):
            if place % self._every:
                continue
            for owner in _owners(obj):
                if owner.api_version == label and owner.is_applier and owner.subresource in APPLIED:
                    try:
                        config = owner.configuration(self._compiled.version(version), obj)
                    except ValueError:
                        continue
                    yield _Apply(key, version, owner.name, owner.subresource, config)


def _owners(obj: Object) -> Sequence[FieldOwner]:
    try:
        return owners_of(obj)
    except ValueError:
        return ()


async def _problems(server: ServerClient, now: CompiledDefinition, each: _Apply, live: Object) -> list[tuple[str, str]]:
    """Return what a repeated apply does: general paths with texts."""
    try:
        result = await server.dry_apply(
            now.definition, each.version, each.key, each.config, manager=each.manager, subresource=each.subresource
        )
    except RefusedError as error:
        if error.code == 404:
            return [("", f"fails: {'/'.join(filter(None, (each.version, each.subresource)))} is not served")]
        text = str(error).replace(each.key.rpartition("/")[2], "NAME")
        return [(_INDEX.sub("[]", path.removeprefix(".")), f"fails: {message}") for path, message in error.causes] or [
            ("", f"fails: {text}")
        ]
    if each.subresource == SCALE:
        # an apply that would change the replicas fails
        return []
    live, result = without_own(live), without_own(result)
    found = differences(live, result, now.version(each.version).schema.structural) + text_differences(live, result)
    return [(one.path, f"{'removes' if one.what is What.MISSING else 'changes'} {one.path}") for one in found if one.what is not What.ADDED]
