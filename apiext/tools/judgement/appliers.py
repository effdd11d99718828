"""Judges repeated server-side applies: the same manifest by the same manager under the new definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.errors import StatusError
from apiext.base.meta.gvk import parse_group_version
from apiext.resources.evaluation.applied_configuration import APPLIED, SCALE, FieldOwner, owners_of, scale_problem
from apiext.resources.evaluation.fields import What, differences, general, same_content, steps_of, text_differences
from apiext.tools.judgement.findings import Findings, Group
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.judgement.schema_shape import versions_that_merge_differently
from apiext.tools.judgement.writes import refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.evaluation.compiled_definition import CompiledDefinition
    from apiext.resources.evaluation.compiled_version import CompiledVersion

MAX_WITH_WEBHOOK: Final = 100
"""Objects whose applies are judged where a webhook converts: each takes several calls."""
_CONFLICT: Final = 409


class Appliers:
    """Repeats the applies of objects' managers."""

    def __init__(self, old: CompiledDefinition, new: CompiledDefinition, findings: Findings) -> None:
        self._old = old
        self._new = new
        self._findings = findings
        self._changed = versions_that_merge_differently(old, new)
        self.skipped = 0
        """Objects that were left out because a webhook would have to convert each."""
        self._called = 0

    async def judge(self, key: str, before: Mapping[str, Object], after: Mapping[str, Object]) -> None:
        """Judge the managers of an object. `before` and `after` have it in each version under the old and the new definition."""
        if not after:
            return
        try:
            found = owners_of(next(iter(after.values())))
        except ValueError as error:
            self._findings.add(key, Group(FindingKind.APPLIER, "", "", f"every server-side apply fails: invalid managedFields: {error}"))
            return
        for name in sorted({owner.api_version for owner in found if not self._new.has(owner.api_version)}):
            self._missing(key, name, found)
        if not self._is_affected(found, before, after):
            return
        if self._new.converter.is_webhook and not self._may_call():
            return
        for owner in found:
            if owner.is_applier and owner.subresource in APPLIED:
                await self._repeat(key, owner, before, after)

    def _is_affected(self, found: Sequence[FieldOwner], before: Mapping[str, Object], after: Mapping[str, Object]) -> bool:
        """Return whether a repeated apply may give something else: a version of the managers, or what is read in it, differs."""
        if not any(owner.is_applier for owner in found):
            return False
        versions = {_name(owner.api_version) for owner in found}
        if not versions.isdisjoint(self._changed):
            return True
        return any(name in before and name in after and not same_content(before[name], after[name]) for name in versions)

    def _may_call(self) -> bool:
        if self._new.converter.missing or self._called >= MAX_WITH_WEBHOOK:
            self.skipped += 1
            return False
        self._called += 1
        return True

    def _missing(self, key: str, api_version: str, found: Sequence[FieldOwner]) -> None:
        names = ", ".join(sorted({owner.name or "unknown" for owner in found if owner.api_version == api_version}))
        message = (
            f"managedFields of {names} name {_name(api_version)}, which the new definition does not have: every server-side apply fails"
        )
        already = not self._old.has(api_version)
        self._findings.add(key, Group(FindingKind.MANAGER, _name(api_version), "", message), already=already)

    async def _repeat(self, key: str, owner: FieldOwner, before: Mapping[str, Object], after: Mapping[str, Object]) -> None:
        name = _name(owner.api_version)
        who = f"{owner.name or 'unknown'} ({owner.subresource})" if owner.subresource else owner.name or "unknown"
        if name not in after:
            if self._new.has(owner.api_version) and name not in self._new.served:
                text = f"{who} applies {name}, which is no longer served"
                self._findings.add(key, Group(FindingKind.APPLIER, name, "", text), already=name not in self._old.served)
            return
        config = self._configuration(name, owner, before.get(name))
        if config is None:
            return
        found = await _outcome(self._new, name, owner, who, config, after[name])
        # an empty object that a manager owns goes with its next apply, under any definition
        known = set(await _outcome(self._old, name, owner, who, config, before[name])) if found else ()
        for group in found:
            if group not in known:
                self._findings.add(key, group)

    def _configuration(self, name: str, owner: FieldOwner, obj: Object | None) -> Object | None:
        """Return what the manager applied under the old definition, None if it is unknown."""
        if obj is None:
            return None
        try:
            return owner.configuration(self._old.version(name), obj)
        except ValueError:
            return None


async def _outcome(judged: CompiledDefinition, name: str, owner: FieldOwner, who: str, config: Object, live: Object) -> list[Group]:
    """Return what a repeated apply does to an object."""
    version = judged.version(name)
    is_there = version.version.scale is not None if owner.subresource == SCALE else version.has(owner.subresource)
    if not is_there:
        return [Group(FindingKind.APPLIER, name, "", f"{who} applies a subresource that {name} no longer has")]
    if owner.subresource == SCALE:
        reason = scale_problem(version, live, config)
        return [Group(FindingKind.APPLIER, name, "", f"a repeated apply by {who} fails: {reason}")] if reason else []
    try:
        result = await version.fields(owner.subresource).apply(live, config, owner.name, force=False)
    except StatusError as error:
        return _refused(version, who, live, error)
    found: list[Group] = []
    is_changed = result.keys() != live.keys() or any(result[member] is not live[member] for member in live if member != "metadata")
    if is_changed or not version.is_valid(result):
        # an update ignores what belongs to another subresource
        result, _, refusal = version.update(result, live, owner.subresource)
        for path, message in refused(version, result, refusal) if refusal is not None else ():
            found.append(Group(FindingKind.APPLIER, name, path, f"a repeated apply by {who} is refused: {message}"))
    return _changes(version, who, live, result) + found


def _refused(version: CompiledVersion, who: str, live: Object, error: StatusError) -> list[Group]:
    if error.code != _CONFLICT:
        message = error.message.replace(_described(live), "...")
        return [Group(FindingKind.APPLIER, version.name, "", f"a repeated apply by {who} fails: {message}")]
    found = []
    for cause in (error.details or {}).get("causes") or ():
        path = general(steps_of(str(cause["field"]).removeprefix("."), live), version.schema.structural)
        found.append(Group(FindingKind.CONFLICT, version.name, path, f"a repeated apply by {who} conflicts: {cause['message']}"))
    return found


def _changes(version: CompiledVersion, who: str, live: Object, result: Object) -> list[Group]:
    """Return the fields that an apply removes or changes. Defaults that it adds belong to any write."""
    found = []
    for difference in differences(live, result, version.schema.structural) + text_differences(live, result):
        if difference.what is not What.ADDED:
            verb = "removes" if difference.what is What.MISSING else "changes"
            text = f"a repeated apply by {who} {verb} {difference.path}"
            found.append(Group(FindingKind.UNAPPLIED, version.name, difference.path, text))
    return found


def _name(api_version: str) -> str:
    try:
        return parse_group_version(api_version).version
    except ValueError:
        return api_version


def _described(obj: Object) -> str:
    metadata = obj.get("metadata") or {}
    group = parse_group_version(obj["apiVersion"])
    return f"({metadata.get('namespace', '')}/{metadata.get('name', '')}; {group.group}/{group.version}, Kind={obj['kind']})"
