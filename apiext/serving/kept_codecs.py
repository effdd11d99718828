"""Keeps codecs of changed definitions with valid renderings, so that webhooks need not convert these objects again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.definitions.definition import Definition
    from apiext.meta.encoding.json_codec import Object
    from apiext.serving.info import ServingVersion
    from apiext.storage.interface import Codec


class KeptCodecs:
    """Codecs of earlier states of definitions, by uid and version, until the versions of the current state are built."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Codec]] = {}

    def change(self, old: Definition, new: Definition | None, versions: Mapping[str, ServingVersion]) -> None:
        """Keep the codecs of the old state, and earlier ones, that render as the new state will."""
        codecs = self._kept.pop(old.uid, {}) | {
            name: served.codec for name, served in versions.items() if served.codec.conversion is not None
        }
        if new is None or not codecs:
            return
        before, after = old.object["spec"], new.object["spec"]
        kept = {name: codec for name, codec in codecs.items() if _render_equally(before, after, name)}
        if kept:
            self._kept[old.uid] = kept

    def take(self, definition: Definition, version: str) -> Codec | None:
        """Return and forget the kept codec of a version."""
        return self._kept.get(definition.uid, {}).pop(version, None)


def _render_equally(before: Object, after: Object, version: str) -> bool:
    """Report whether a version renders stored objects equally under two specs."""
    old, new = ({one["name"]: one for one in spec["versions"]} for spec in (before, after))
    # the schema of its own version prunes and defaults an object before conversion
    same_schemas = all(name in new and one.get("schema") == new[name].get("schema") for name, one in old.items())
    same_members = all(before.get(member) == after.get(member) for member in ("conversion", "preserveUnknownFields"))
    return (
        same_schemas
        and same_members
        and before["names"]["kind"] == after["names"]["kind"]
        and old[version].get("selectableFields") == new[version].get("selectableFields")
    )
