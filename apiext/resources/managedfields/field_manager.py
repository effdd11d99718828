"""The field manager: keeps metadata.managedFields, and merges applied configurations into objects.

Mirrors the chain of managers of apimachinery pkg/util/managedfields/internal (fieldmanager.go, skipnonapplied.go, buildmanagerinfo.go,
managedfieldsupdater.go, stripmeta.go, structuredmerge.go, lastappliedmanager.go).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import errors, time
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.limits import MAX_UPDATE_MANAGERS
from apiext.base.meta.objectmeta import canonical
from apiext.base.meta.objectmeta.validation import are_annotations_too_large
from apiext.resources.managedfields import field_set, managers
from apiext.resources.managedfields.comparison import compare, leaves
from apiext.resources.managedfields.managers import APPLY, UPDATE, Manager, Managers, Times, VersionedSet
from apiext.resources.managedfields.updater import ApplyConflictError, TypedValue, Updater
from apiext.resources.managedfields.validation import check, check_changed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.conversion.interface import CarriedContent
    from apiext.resources.managedfields.field_set import FieldSet
    from apiext.resources.managedfields.versions import Versions

SERVER: Final = "kube-apiserver"
"""The manager of the fields that the server's own controllers change."""
_NEW: Final = "new object"
_CURRENT: Final = Manager("current-operation", UPDATE)
_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_SYSTEM_FIELDS: Final = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
_UNOWNED: Final = field_set.from_paths(
    ("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in _SYSTEM_FIELDS)
)
"""Fields without a manager."""

_Managed = tuple[Managers, Times]

KUBECTL: Final = "kubectl"
"""The manager that adopts fields from client-side apply."""
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"

_ANCIENT: Final = "ancient-changes"


def cap_update_managers(managers: Managers, times: Times) -> tuple[Managers, Times]:
    """Merge the oldest managers of updates, into one for each version, until MAX_UPDATE_MANAGERS are left."""
    if len(managers) <= MAX_UPDATE_MANAGERS:
        return managers, times
    updaters = [manager for manager, owned in managers.items() if not owned.applied]
    left = len(updaters)
    if left <= MAX_UPDATE_MANAGERS:
        return managers, times
    managers, times = managers.copy(), times.copy()
    updaters.sort(key=lambda manager: (times.get(manager, ""), manager.identifier))
    first_of: dict[str, Manager] = {}
    for manager in updaters:
        if left <= MAX_UPDATE_MANAGERS:
            break
        owned = managers[manager]
        first = first_of.setdefault(owned.version, manager)
        if first is manager:
            continue
        bucket = Manager.of(_ANCIENT, UPDATE, owned.version)
        if bucket not in managers:
            managers[bucket] = managers.pop(first)
        managers[bucket] = VersionedSet(field_set.union(owned.fields, managers[bucket].fields), owned.version, applied=False)
        del managers[manager]
        left -= 1
        times.pop(bucket, None)
        if manager in times:
            times[bucket] = times[manager]
    return managers, times


def last_applied(obj: Object) -> str:
    """Return the configuration in the annotation of client-side apply, "" if there is none."""
    return (obj["metadata"].get("annotations") or {}).get(ANNOTATION) or ""


def with_last_applied(obj: Object, configuration: Object) -> Object:
    """Return an object with the annotation set to a configuration. Omit the annotation if the annotations become too large."""
    metadata = dict(configuration.get("metadata") or {})
    if metadata.get("annotations") is not None:
        metadata["annotations"] = {name: text for name, text in metadata["annotations"].items() if name != ANNOTATION}
    recorded = json_codec.dumps(configuration | {"metadata": metadata}).decode() + "\n"
    annotations = obj["metadata"]["annotations"] | {ANNOTATION: recorded}
    if are_annotations_too_large(annotations):
        del annotations[ANNOTATION]
    return obj | {"metadata": obj["metadata"] | {"annotations": annotations}}


class FieldManager:
    """The managers of the objects of one endpoint."""

    __slots__ = ("_api_version", "_carrying", "_kind", "_subresource", "_updater", "_versions")

    def __init__(
        self,
        kind: GroupVersionKind,
        versions: Versions,
        reset_fields: Mapping[str, FieldSet] | None = None,
        *,
        subresource: str = "",
        carrying: CarriedContent | None = None,
    ) -> None:
        """Create the manager of fields. With `carrying`, clients do not change what objects carry."""
        self._carrying = carrying
        self._api_version, self._kind = kind.api_version, kind.kind
        self._versions = versions
        self._subresource = subresource
        self._updater = Updater(versions, reset_fields or {})

    def recorder(self, manager: str) -> Callable[[Object, Object], Awaitable[None]]:
        """Return `update` bound to one manager."""
        return functools.partial(self.update, manager=manager)

    async def update(self, live: Object, new: Object, manager: str) -> None:
        """Record the manager of the fields in which a new object differs from the live one, {} if there is none.

        The new object gets a new metadata; nothing else changes. Valid entries from the client replace those of the live object.
        If the fields cannot be compared, the entries of the live object stay.
        """
        metadata = new["metadata"] = dict(new.get("metadata") or {})
        if self._carrying is not None and live:
            # fields of other versions that are carried are not removed
            self._carrying.keep(metadata, live.get("metadata") or {})
        sent, known = metadata.pop("managedFields", None), _entries(live)
        try:
            before = self._initial(sent, known)
            if not live and not before[0]:
                before = await self._created(new, manager)
            elif before[0] or not (live.get("metadata") or {}).get("uid"):
                before = await self._recorded(_unmanaged(live) or self._versions.empty(), new, before, manager)
            found: Any = managers.encode(*before)
            canonical.take_entries(found)
        except (ValueError, errors.StatusError):
            found = known
        if found:
            metadata["managedFields"] = found

    def _initial(self, sent: Any, known: Any) -> _Managed:
        """Return the managers before an update."""
        if not self._subresource and sent:
            if sent == [{}]:
                return {}, {}
            read = _read(sent)
            if read[0]:
                return read
        return _read(known or ())

    async def _created(self, new: Object, name: str) -> _Managed:
        """Make a manager the owner of all fields of a new object."""
        empty = self._versions.empty()
        fields = self._updater.created(empty, self._typed(_NEW, new))
        if fields is None:
            return await self._recorded(empty, new, ({}, {}), name)
        owned = field_set.difference(fields, _UNOWNED)
        manager = self._manager(name, UPDATE)
        return ({manager: VersionedSet(owned, self._api_version, applied=False)}, {manager: time.now()}) if owned else ({}, {})

    async def _recorded(self, live: Object, new: Object, before: _Managed, name: str) -> _Managed:
        """Make a manager the owner of the changed fields. Its time changes if there are any."""
        is_typed = self._versions.is_known_typed(live)
        typed = self._typed(_NEW, new)
        if not is_typed:
            check_changed(typed.merge_type, live, new)
        fields = await self._updater.update(typed.with_value(live), typed, before[0], _CURRENT)
        _strip(fields, _CURRENT)
        times, owned = before[1], fields.pop(_CURRENT, None)
        if owned is not None:
            manager = self._manager(name, UPDATE)
            mine = fields.get(manager)
            fields[manager] = owned if mine is None else owned.with_fields(field_set.union(mine.fields, owned.fields))
            times = times | {manager: time.now()}
        return cap_update_managers(fields, times)

    def _typed(self, what: str, obj: Object, *, duplicates: bool = True) -> TypedValue:
        """Return an object of the endpoint's version with its type. Raise ValueError if the object does not match the type."""
        merge_type = self._versions.merge_type
        if not self._has_type(obj):
            raise ValueError(f"no corresponding type for {_type_text(obj)}")
        try:
            if not (duplicates and self._versions.is_surely_typed(obj)):
                check(merge_type, obj, duplicates=duplicates)
        except ValueError as error:
            text = f"convert {what} ({_described(obj)}) to smd typed" if what == _NEW else f"create typed {what} ({_described(obj)})"
            raise ValueError(f"failed to {text}: {error}") from error
        return TypedValue(obj, merge_type, self._api_version)

    def _has_type(self, obj: Object) -> bool:
        return obj.get("apiVersion") == self._api_version and obj.get("kind") == self._kind

    def _manager(self, name: str, operation: str) -> Manager:
        return Manager.of(name or "unknown", operation, self._api_version, self._subresource)

    async def apply(self, live: Object, config: Object, manager: str, *, force: bool) -> Object:
        """Merge an applied configuration into a live object, {} if there is none. Return the result.

        Raises:
            StatusError: the configuration is invalid (400, 500), or other managers own fields that it changes (409).
        """
        if not self._has_type(config):
            raise errors.bad_request(f"invalid object type: {_type_text(config)}")
        try:
            before = managers.decode(_entries(live) or ())
        except ValueError as error:
            raise errors.unknown(f"failed to decode managed fields: {error}") from error
        if self._carrying is not None and live and type(config.get("metadata")) is dict:
            config = config | {"metadata": config["metadata"].copy()}
            self._carrying.keep(config["metadata"], {})
        try:
            obj, after = await self._applied(_unmanaged(live) or self._versions.empty(), config, before, manager, force=force)
        except ApplyConflictError as error:
            raise error.status() from error
        except ValueError as error:
            raise errors.unknown(str(error)) from error
        if manager == KUBECTL and last_applied(obj):
            obj = with_last_applied(obj, config)
        found = managers.encode(*after)
        canonical.take_entries(found)
        return obj | {"metadata": (obj.get("metadata") or {}) | ({"managedFields": found} if found else {})}

    async def _applied(self, live: Object, config: Object, before: _Managed, name: str, *, force: bool) -> tuple[Object, _Managed]:
        """Apply. For kubectl, force the apply if all conflicts are about fields with the values that client-side apply set."""
        try:
            return await self._merged(live, config, before, name, force=force)
        except ApplyConflictError as error:
            allowed = self._client_side_fields(live) if name == KUBECTL else None
            if allowed is None:
                raise
            left = {manager: field_set.difference(fields, allowed) for manager, fields in error.fields.items()}
            if any(left.values()):
                raise ApplyConflictError({manager: fields for manager, fields in left.items() if fields}) from error
        return await self._merged(live, config, before, name, force=True)

    def _client_side_fields(self, live: Object) -> FieldSet | None:
        """Return the fields with the same values as in the annotation of client-side apply. None if they cannot be compared."""
        try:
            recorded = json_codec.loads(last_applied(live).encode())
            if not isinstance(recorded, dict) or recorded.get("apiVersion") != self._api_version:
                return None
            current = self._typed("live object", live, duplicates=False)
            check(current.merge_type, recorded)
        except ValueError:
            return None
        fields = leaves(current.merge_type, recorded)
        for different in compare(current.merge_type, recorded, live):
            fields = field_set.difference(fields, different)
        return fields

    async def _merged(self, live: Object, config: Object, before: _Managed, name: str, *, force: bool) -> tuple[Object, _Managed]:
        if not before[0]:
            try:
                before = await self._recorded(self._versions.empty(), live, before, _BEFORE_FIRST_APPLY)
            except ValueError as error:
                raise ValueError(f"failed to create manager for existing fields: {error}") from error
        if _entries(config) is not None:
            raise errors.bad_request("metadata.managedFields must be nil")
        applied, current = self._typed("patch object", config, duplicates=False), self._typed("live object", live)
        manager = self._manager(name, APPLY)
        merged, fields = await self._updater.apply(current, applied, before[0], manager, force=force)
        _strip(fields, manager)
        if merged is None:
            return live, (fields, before[1])
        try:
            obj = self._versions.complete(merged.value)
        except ValueError as error:
            raise ValueError(f"failed to convert new object ({_described(config)}) to proper version: {error}") from error
        return obj, (fields, before[1] | {manager: time.now()})


def _read(entries: Any) -> _Managed:
    """Return the managers in entries; none if the entries are invalid."""
    try:
        return managers.decode(entries)
    except ValueError:
        return {}, {}


def _strip(fields: Managers, manager: Manager) -> None:
    """Remove the unowned fields from a manager's set, in place. Remove a manager without other fields."""
    owned = fields.get(manager)
    if owned is None:
        return
    rest = owned.fields if owned.fields.keys().isdisjoint(_UNOWNED) else field_set.difference(owned.fields, _UNOWNED)
    if rest:
        fields[manager] = owned.with_fields(rest)
    else:
        del fields[manager]


def _entries(obj: Object) -> Any:
    """Return metadata.managedFields of an object, None if there are none."""
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if type(metadata) is dict else None


def _unmanaged(obj: Object) -> Object:
    """Return an object without metadata.managedFields."""
    if _entries(obj) is None:
        return obj
    metadata = obj["metadata"].copy()
    del metadata["managedFields"]
    return obj | {"metadata": metadata}


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _type_text(obj: Object) -> str:
    """Return the type of an object as the reference prints a GroupVersionKind."""
    try:
        group = parse_group_version(_text(obj.get("apiVersion")))
    except ValueError:
        return "/, Kind="
    return f"{group.group}/{group.version}, Kind={_text(obj.get('kind'))}"


def _described(obj: Object) -> str:
    """Return namespace, name and type of an object in the form of messages."""
    metadata = obj.get("metadata")
    metadata = metadata if type(metadata) is dict else {}
    return f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}; {_type_text(obj)}"
