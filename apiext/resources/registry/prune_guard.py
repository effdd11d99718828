"""Checks updates of a definition that remove versions with stored objects.

The reference lets a client remove such a version from status.storedVersions: its objects become unreadable.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors, field
from apiext.base.meta.gvk import GroupKind, GroupResource
from apiext.base.texts import counted
from apiext.resources.definitions.codec import GVK

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.request_context import RequestContext
    from apiext.storage.stored_bytes.version_counts import StoredCounts

CountStored = Callable[[GroupResource], Awaitable["StoredCounts"]]
"""Counts the stored objects of a resource by version. Raises BackendError."""

_STORED: Final = field.Path("status", "storedVersions")
_SPEC: Final = field.Path("spec", "versions")


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneGuard:
    """Checks the versions that an update removes from status.storedVersions or spec.versions."""

    count: CountStored
    refuses: bool = False
    """Whether to refuse the update (`--guard-stored-versions`) or to warn."""

    async def check(self, ctx: RequestContext, new: Object, old: Object) -> None:
        """Warn about removed versions in which objects are stored, or refuse to remove them.

        Raises:
            StatusError: 422, if the guard refuses.
            BackendError: the objects cannot be counted.
        """
        removed = list(_removed(new, old))
        if not removed:
            return
        spec = old["spec"]
        counts = await self.count(GroupResource(spec["group"], spec["names"]["plural"]))
        stored = [(path, name, counts.of(name)) for path, name in removed if counts.of(name)]
        if stored and self.refuses:
            problems = [field.forbidden(path, f"{name} must not be removed: {stored_in(name, number)}") for path, name, number in stored]
            raise errors.invalid(GroupKind(GVK.group, GVK.kind), new["metadata"]["name"], problems)
        ctx.warnings += [f"{path}: {name} is removed, but {stored_in(name, number)}" for path, name, number in stored]
        if counts.unknown:
            names = ", ".join(dict.fromkeys(name for _, name in removed))
            ctx.warnings.append(f"{removed[0][0]}: {names} is removed, but {stored_in('an unknown version', counts.unknown)}")


def stored_in(version: str, number: int) -> str:
    """Return the text that a number of objects are stored in a version."""
    return f"{counted(number, 'object')} {'is' if number == 1 else 'are'} stored in {version}"


def _removed(new: Object, old: Object) -> Iterator[tuple[field.Path, str]]:
    for path, after, before in ((_STORED, _stored(new), _stored(old)), (_SPEC, _names(new), _names(old))):
        for name in before:
            if name not in after:
                yield path, name


def _stored(crd: Object) -> list[str]:
    return crd["status"]["storedVersions"] or []


def _names(crd: Object) -> list[str]:
    return [version["name"] for version in crd["spec"]["versions"] or ()]
