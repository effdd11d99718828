"""The options of each verb, decoded from the query and validated.

Mirrors apimachinery pkg/apis/meta/v1 (the url.Values conversions), pkg/apis/meta/v1/validation and
pkg/apis/meta/internalversion/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from apiext.endpoints.handlers.query_parameters import Query, flag, integer, text
from apiext.meta import errors, field, go_format
from apiext.meta.gvk import GroupKind
from apiext.meta.selectors import FieldSelector, LabelSelector, parse_field_selector, parse_label_selector
from apiext.storage.interface import EVERYTHING, ListOptions, Preconditions, Selection, VersionMatch, WatchOptions

META_GROUP: Final = "meta.k8s.io"
IGNORE: Final = "Ignore"
WARN: Final = "Warn"
STRICT: Final = "Strict"
_ALL: Final = "All"
_MAX_MANAGER_BYTES: Final = 128
_POLICIES: Final = ("Foreground", "Background", "Orphan")
UNREADABLE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
_NOT_OLDER: Final = VersionMatch.NOT_OLDER_THAN

FieldLabel = Callable[[str, str], tuple[str, str]]
"""Validates a field selector's label and value for a kind and returns both as stored. Raises ValueError for an unknown label."""


def _raise_invalid(kind: str, found: Sequence[field.FieldError]) -> None:
    if found:
        raise errors.invalid(GroupKind(META_GROUP, kind), "", found)


# --- lists and watches ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The options of a list, a watch or a deletecollection."""

    selection: Selection
    watch: bool
    allow_bookmarks: bool
    resource_version: str
    match: str
    timeout_seconds: int | None
    limit: int
    continue_token: str
    send_initial_events: bool | None

    def list_options(self) -> ListOptions:
        """Convert the options for the registry's list."""
        return ListOptions(
            selection=self.selection,
            resource_version=self.resource_version,
            match=VersionMatch(self.match),
            limit=max(self.limit, 0),
            continue_token=self.continue_token,
        )

    def watch_options(self, *, timeout: float) -> WatchOptions:
        """Convert the options for the registry's watch, with its timeout in seconds."""
        return WatchOptions(
            selection=self.selection,
            resource_version=self.resource_version,
            match=VersionMatch(self.match),
            send_initial_events=self.send_initial_events,
            allow_bookmarks=self.allow_bookmarks,
            timeout=timeout,
        )


_NO_LIST_OPTIONS: Final = ListQuery(
    selection=EVERYTHING,
    watch=False,
    allow_bookmarks=False,
    resource_version="",
    match="",
    timeout_seconds=None,
    limit=0,
    continue_token="",
    send_initial_events=None,
)


def list_query(query: Query, field_label: FieldLabel, *, watch: bool = False, name: str = "") -> ListQuery:
    """Decode and validate the options. `name` selects one object; `watch` is set for a watch path without `?watch`.

    Raises:
        StatusError: 400 for a malformed value, 422 for invalid combinations.
    """
    if not query and not name and not watch:
        return _NO_LIST_OPTIONS
    timeout, limit = integer(query, "timeoutSeconds"), integer(query, "limit") or 0
    options = ListQuery(
        selection=_selection(query),
        watch=watch or bool(flag(query, "watch")),
        allow_bookmarks=bool(flag(query, "allowWatchBookmarks")),
        resource_version=text(query, "resourceVersion"),
        match=text(query, "resourceVersionMatch"),
        timeout_seconds=timeout,
        limit=limit,
        continue_token=text(query, "continue"),
        send_initial_events=flag(query, "sendInitialEvents"),
    )
    explicit_watch = flag(query, "watch")
    if explicit_watch and options.send_initial_events is None and not options.match and options.resource_version in {"", "0"}:
        # SetListOptionsDefaults of the reference
        options = replace(options, send_initial_events=True, match=_NOT_OLDER)
    _raise_invalid("ListOptions", _check_watch(options) if explicit_watch else _check_list(options))
    return replace(options, selection=_transform(options.selection, field_label, name))


def _selection(query: Query) -> Selection:
    labels, fields = text(query, "labelSelector"), text(query, "fieldSelector")
    if not labels and not fields:
        return EVERYTHING
    try:
        label_selector = parse_label_selector(labels) if labels else None
        field_selector = parse_field_selector(fields) if fields else None
    except ValueError as error:
        raise errors.bad_request(str(error)) from error
    return Selection(_unless_empty_labels(label_selector), _unless_empty_fields(field_selector))


def _unless_empty_labels(selector: LabelSelector | None) -> LabelSelector | None:
    return selector if selector and selector.requirements else None


def _unless_empty_fields(selector: FieldSelector | None) -> FieldSelector | None:
    return selector if selector and selector.requirements else None


def _transform(selection: Selection, field_label: FieldLabel, name: str) -> Selection:
    fields = selection.fields
    if fields is not None:
        try:
            fields = fields.transform(field_label)
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
    if name:
        if fields is None:
            fields = parse_field_selector(f"metadata.name={name}")
        elif fields.requires_exact("metadata.name") != name:
            raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
    if fields is None and selection.labels is None:
        return EVERYTHING
    return Selection(selection.labels, fields)


def _check_list(options: ListQuery) -> list[field.FieldError]:
    found: list[field.FieldError] = []
    path = field.Path("resourceVersionMatch")
    if options.match:
        if not options.resource_version:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in {VersionMatch.EXACT, _NOT_OLDER}:
            found.append(field.not_supported(path, options.match, ["Exact", "NotOlderThan", ""]))
        if options.match == VersionMatch.EXACT and options.resource_version == "0":
            found.append(field.forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        found.append(field.forbidden(field.Path("sendInitialEvents"), "sendInitialEvents is forbidden for list"))
    return found


def _check_watch(options: ListQuery) -> list[field.FieldError]:
    found: list[field.FieldError] = []
    path = field.Path("resourceVersionMatch")
    if options.send_initial_events is not None and options.match != _NOT_OLDER:
        found.append(field.forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if options.match:
        if options.send_initial_events is None:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
        if options.match != _NOT_OLDER:
            found.append(field.not_supported(path, options.match, ["NotOlderThan"]))
        if options.continue_token:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return found


# --- writes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteQuery:
    """The options of a create, update or patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = WARN


_NO_WRITE_OPTIONS: Final = WriteQuery()


def write_query(query: Query, kind: str, *, patch: bool = False, apply: bool = False) -> WriteQuery:
    """Decode and validate the options of a write. `kind` is CreateOptions, UpdateOptions or PatchOptions.

    Raises:
        StatusError: 422 with a cause for each invalid option.
    """
    if not query and not apply:
        return _NO_WRITE_OPTIONS
    manager, validation = text(query, "fieldManager"), text(query, "fieldValidation")
    force, dry_run = flag(query, "force") if patch else None, query.get("dryRun", [])
    found: list[field.FieldError] = []
    if apply and not manager:
        found.append(field.required(field.Path("fieldManager"), "is required for apply patch"))
    if patch and not apply and force is not None:
        found.append(field.forbidden(field.Path("force"), "may not be specified for non-apply patch"))
    found += _check_manager(manager)
    found += check_dry_run(dry_run)
    if validation not in {"", IGNORE, WARN, STRICT}:
        found.append(field.not_supported(field.Path("fieldValidation"), validation, ["", IGNORE, STRICT, WARN]))
    _raise_invalid(kind, found)
    return WriteQuery(bool(dry_run), manager, validation or WARN)


def _check_manager(manager: str) -> list[field.FieldError]:
    path = field.Path("fieldManager")
    found: list[field.FieldError] = []
    if len(manager.encode()) > _MAX_MANAGER_BYTES:
        found.append(field.too_long(path, _MAX_MANAGER_BYTES))
    position = 0
    for char in manager:
        if not (char == " " or char.isprintable()):
            shown = f"U+{ord(char):04X}"
            found.append(field.invalid(path, manager, f"invalid character {shown} (at position {position})"))
        position += len(char.encode("utf-8", "replace"))
    return found


def check_dry_run(values: Sequence[str]) -> list[field.FieldError]:
    """Return the field errors of dryRun, whose only valid value is `All`."""
    if all(item == _ALL for item in values):
        return []
    return [field.not_supported(field.Path("dryRun"), list(values), [_ALL])]


def manager_or_agent(manager: str, user_agent: str) -> str:
    """Return the field manager: the given one, else the User-Agent up to the slash."""
    return manager or _manager_of(user_agent.partition("/")[0])


@lru_cache(maxsize=256)  # few programs send most of the requests
def _manager_of(program: str) -> str:
    name, size = "", 0
    for char in program:
        if not (char == " " or char.isprintable()):
            continue
        size += len(char.encode("utf-8", "replace"))
        if size > _MAX_MANAGER_BYTES:
            break
        name += char
    return name


# --- deletes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeleteQuery:
    """The options of a delete, from the query or the body."""

    grace_period_seconds: int | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()
    preconditions: Preconditions | None = None
    ignore_read_error: bool = False
    """Whether to delete an object that can not be read, and only such a one."""


_NO_DELETE_OPTIONS: Final = DeleteQuery()


def delete_query(query: Query) -> DeleteQuery:
    """Decode the options of a delete without a body.

    Raises:
        StatusError: 400 for a malformed value.
    """
    if not query:
        return _NO_DELETE_OPTIONS
    return DeleteQuery(
        grace_period_seconds=integer(query, "gracePeriodSeconds"),
        orphan_dependents=flag(query, "orphanDependents"),
        propagation_policy=text(query, "propagationPolicy") if "propagationPolicy" in query else None,
        dry_run=tuple(query.get("dryRun", ())),
        preconditions=_query_preconditions(query),
        ignore_read_error=bool(flag(query, UNREADABLE)),
    )


def _query_preconditions(query: Query) -> Preconditions | None:
    """Return the preconditions `uid` and `resourceVersion`. The latter is an option of a deletecollection's list too."""
    uid, version = text(query, "uid"), text(query, "resourceVersion")
    return Preconditions(uid or None, version or None) if uid or version else None


def check_delete(options: DeleteQuery) -> None:
    """Validate the options of a delete.

    Raises:
        StatusError: 422 with a cause for each invalid option.
    """
    path, found = field.Path("propagationPolicy"), []
    policy = options.propagation_policy
    if options.orphan_dependents is not None and policy is not None:
        found.append(field.invalid(path, policy, "orphanDependents and deletionPropagation cannot be both set"))
    if policy is not None and policy not in _POLICIES:
        found.append(field.not_supported(path, policy, [*_POLICIES, "nil"]))
    found += check_dry_run(options.dry_run)
    if options.ignore_read_error:
        found += _check_unreadable(options)
    _raise_invalid("DeleteOptions", found)


def _check_unreadable(options: DeleteQuery) -> list[field.FieldError]:
    """Return field errors for options that need a readable object."""
    others = {
        "propagationPolicy": options.propagation_policy,
        "orphanDependents": options.orphan_dependents,
        "gracePeriodSeconds": options.grace_period_seconds,
        "preconditions": options.preconditions,
    }
    path = field.Path(UNREADABLE)
    return [
        field.invalid(path, options.ignore_read_error, f"cannot be set together with .{name}")
        for name, given in others.items()
        if given is not None
    ]


def reject_unsafe_delete(options: DeleteQuery) -> None:
    """Reject the option for unreadable objects, which a deletecollection does not have.

    Raises:
        StatusError: 422 if it is set.
    """
    if options.ignore_read_error:
        detail = "is not allowed with DELETECOLLECTION, try again after removing the option"
        _raise_invalid("DeleteOptions", [field.invalid(field.Path(UNREADABLE), options.ignore_read_error, detail)])


def check_export(query: Query) -> None:
    """Reject the removed parameter `export`.

    Raises:
        StatusError: 400 if it is set.
    """
    if flag(query, "export"):
        raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")


def meta_field_label(label: str, value: str) -> tuple[str, str]:
    """Accept the field labels that every object has.

    Raises:
        ValueError: for any other label.
    """
    if label in {"metadata.name", "metadata.namespace"}:
        return label, value
    known = ", ".join(map(go_format.quote, ("metadata.name", "metadata.namespace")))
    raise ValueError(f"{go_format.quote(label)} is not a known field selector: only {known}")
