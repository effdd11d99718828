"""The releases of a replay: the recorded definitions and their successors, with conversion webhooks that can be called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.model import DEFINITION
from apiext.resources.evaluation.definition_creation import parse_definition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.releases.interface import Release

_NOT_CALLED: Final = "its conversion webhook is not called: give its address with --service-address or --webhook-url"


@dataclass(frozen=True, slots=True)
class ReleaseSequence:
    """The definitions to replay."""

    recorded: Release
    releases: Sequence[Release]
    """The releases after it, each with the recorded names only."""
    not_proved: Sequence[str]
    """The definitions that are left out, and why."""

    @property
    def labels(self) -> list[str]:
        """Return the names of the releases for people, the recording first."""
        return ["recording", *(release.origin for release in self.releases)]


def sequence_of(recorded: Release, releases: Sequence[Release], *, webhook: Mapping[str, Any] | None, calls: bool) -> ReleaseSequence:
    """Return the releases to replay, each with the Conversions of the earlier ones that it does not replace.

    `webhook` is a clientConfig in place of those of the definitions. Without it, and without `calls`, definitions with a webhook are
    left out.
    """
    recorded, *releases = with_rules = _with_rules([recorded, *releases])
    names: list[str] = []
    left_out: list[str] = []
    for name, definition in sorted(recorded.definitions.items()):
        if name == DEFINITION:
            # its objects are the rules of others
            continue
        drafts = [draft for release in with_rules if name not in release.conversions and (draft := _draft(release, name)) is not None]
        if definition.is_terminating:
            left_out.append(f"{name}: it was being deleted")
        elif webhook is None and not calls and any(map(_has_webhook, drafts)):
            left_out.append(f"{name}: {_NOT_CALLED}")
        else:
            names.append(name)
    chosen = [_limited(release, names, webhook) for release in (recorded, *releases)]
    missing = [
        f"{name}: {release.origin} does not have it, so that it stays as it is"
        for release in releases
        for name in names
        if _draft(release, name) is None
    ]
    return ReleaseSequence(chosen[0], chosen[1:], [*left_out, *missing])


def _with_rules(releases: Iterable[Release]) -> list[Release]:
    """Return the releases with the Conversions of the earlier ones, which stay on a server until they are replaced."""
    found: list[Release] = []
    rules: dict[str, Object] = {}
    for release in releases:
        rules = {**rules, **release.conversions}
        found.append(replace(release, conversions=rules))
    return found


def _draft(release: Release, name: str) -> Object | None:
    definition = release.definitions.get(name)
    return definition.head if definition is not None else release.drafts.get(name)


def _has_webhook(crd: Object) -> bool:
    return bool((crd["spec"].get("conversion") or {}).get("strategy") == "Webhook")


def _limited(release: Release, names: Collection[str], webhook: Mapping[str, Any] | None) -> Release:
    return replace(
        release,
        definitions={name: _redirected(one, webhook) for name, one in release.definitions.items() if name in names},
        refused={name: reasons for name, reasons in release.refused.items() if name in names},
        drafts={name: _with_webhook(draft, webhook) for name, draft in release.drafts.items() if name in names},
    )


def _redirected(definition: Definition, webhook: Mapping[str, Any] | None) -> Definition:
    if webhook is None or not _has_webhook(definition.head):
        return definition
    return parse_definition(_with_webhook(definition.object, webhook))


def _with_webhook(crd: Object, webhook: Mapping[str, Any] | None) -> Object:
    """Return a definition whose webhook is at another place."""
    if webhook is None or not _has_webhook(crd):
        return crd
    conversion = crd["spec"]["conversion"]
    moved = conversion | {"webhook": conversion["webhook"] | {"clientConfig": dict(webhook)}}
    return crd | {"spec": crd["spec"] | {"conversion": moved}}
