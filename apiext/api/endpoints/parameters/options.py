"""The options of each verb: decoding from the query, and validation.

Mirrors apimachinery pkg/apis/meta/v1 (the url.Values conversions), pkg/apis/meta/v1/validation and
pkg/apis/meta/internalversion/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from aiohttp import web

from apiext.api.endpoints.parameters.query_parameters import Query, flag, integer, parse, parse_query, text
from apiext.api.endpoints.request import INFO
from apiext.api.endpoints.serializers.negotiation import META_GROUP
from apiext.base.meta import errors, field
from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import GroupKind
from apiext.base.meta.objectmeta.sharding import ShardSelector
from apiext.base.meta.objectmeta.validation import validate_field_manager
from apiext.base.meta.selector_parser import field_selector_steps, label_selector_steps
from apiext.base.meta.selectors import FieldRequirement, FieldSelector, Operator
from apiext.base.meta.steps import Steps, at_once
from apiext.storage.interface import EVERYTHING, ListOptions, Preconditions, Selection, VersionMatch, WatchOptions

IGNORE: Final = "Ignore"
WARN: Final = "Warn"
STRICT: Final = "Strict"
_ALL: Final = "All"
_POLICIES: Final = ("Foreground", "Background", "Orphan")
UNREADABLE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
_NOT_OLDER: Final = VersionMatch.NOT_OLDER_THAN
_CACHED_QUERIES: Final = 256
_MAX_CACHED_QUERY: Final = 256
"""Length of a query up to which its options are cached."""

FieldLabel = Callable[[str], None]
"""Validates a field selector's label for a kind. Raises ValueError for an unknown one."""


def known_field_labels(known: frozenset[str]) -> FieldLabel:
    """Return a validation that accepts only the known labels."""

    def check(label: str) -> None:
        if label not in known:
            raise ValueError(f"field label not supported: {label}")

    return check


def _raise_invalid(kind: str, found: Sequence[field.FieldError]) -> None:
    if found:
        raise errors.invalid(GroupKind(META_GROUP, kind), "", found)


# --- lists and watches ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The options of a list, a watch or a deletecollection."""

    selection: Selection = EVERYTHING
    allow_bookmarks: bool = False
    resource_version: str = ""
    match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial_events: bool | None = None

    def list_options(self, shard: ShardSelector | None = None) -> ListOptions:
        """Convert the options for the registry's list of all objects, or of those of a shard."""
        return ListOptions(
            selection=self._in_shard(shard),
            resource_version=self.resource_version,
            match=VersionMatch(self.match),
            limit=max(self.limit, 0),
            continue_token=self.continue_token,
        )

    def watch_options(
        self, shard: ShardSelector | None = None, *, timeout: float, initialized: Callable[[], None] | None = None
    ) -> WatchOptions:
        """Convert the options for the registry's watch of all objects or of those of a shard, with its timeout in seconds."""
        return WatchOptions(
            selection=self._in_shard(shard),
            resource_version=self.resource_version,
            match=VersionMatch(self.match),
            send_initial_events=self.send_initial_events,
            allow_bookmarks=self.allow_bookmarks,
            timeout=timeout,
            initialized=initialized,
        )

    def _in_shard(self, shard: ShardSelector | None) -> Selection:
        return self.selection if shard is None else replace(self.selection, shard=shard)


_NO_LIST_OPTIONS: Final = ListQuery()


def short_list_query(request: web.BaseRequest, field_label: FieldLabel) -> ListQuery | None:
    """Return the options of a request with a short query, None for a long one. Requests share the options. Raises as `list_query`."""
    raw = request.rel_url.raw_query_string
    return _cached_list_query(raw, field_label, request[INFO].name) if len(raw) <= _MAX_CACHED_QUERY else None


@lru_cache(maxsize=_CACHED_QUERIES)  # informers and controllers repeat their selectors
def _cached_list_query(raw: str, field_label: FieldLabel, name: str) -> ListQuery:
    return at_once(list_query(parse(raw), field_label, name=name))


def list_query(query: Query, field_label: FieldLabel, *, name: str = "") -> Steps[ListQuery]:
    """Decode and validate the options, in steps. A `name` restricts them to one object.

    Raises:
        StatusError: 400 for a malformed value, 422 for invalid combinations.
    """
    if not query and not name:
        return _NO_LIST_OPTIONS
    timeout, limit = integer(query, "timeoutSeconds"), integer(query, "limit") or 0
    options = ListQuery(
        selection=(yield from _selection(query)),
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
    return replace(options, selection=_checked_fields(options.selection, field_label, name))


def _selection(query: Query) -> Steps[Selection]:
    labels, fields = text(query, "labelSelector"), text(query, "fieldSelector")
    if not labels and not fields:
        return EVERYTHING
    try:
        label_selector = (yield from label_selector_steps(labels)) if labels else None
        field_selector = (yield from field_selector_steps(fields)) if fields else None
    except ValueError as error:
        raise errors.bad_request(str(error)) from error
    return Selection(
        label_selector if label_selector and not label_selector.empty else None,
        field_selector if field_selector and not field_selector.empty else None,
    )


def _checked_fields(selection: Selection, field_label: FieldLabel, name: str) -> Selection:
    fields = selection.fields
    if fields is not None:
        try:
            for label in fields.fields:
                field_label(label)
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
    if name:
        if fields is None:
            fields = FieldSelector(f"metadata.name={name}")
            fields.add(FieldRequirement("metadata.name", Operator.EQUALS, name))
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
            found.append(field.not_supported(path, field.typed_text(options.match), ["Exact", "NotOlderThan", ""]))
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
            found.append(field.not_supported(path, field.typed_text(options.match), ["NotOlderThan"]))
        if options.continue_token:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return found


# --- writes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteQuery:
    """The options of a create, update or patch."""

    dry_run: bool = False
    field_validation: str = WARN
    field_manager: str = ""
    force: bool = False
    """Whether an apply takes over fields of other managers."""
    given_validation: str = ""
    """The field validation in the query."""


def write_options(request: web.BaseRequest, kind: str, *, apply: bool = False) -> WriteQuery:
    """Return the options of a write from its query. Raises as `write_query`."""
    raw = request.rel_url.raw_query_string
    if len(raw) <= _MAX_CACHED_QUERY:
        return _cached_write_query(raw, kind, apply)
    return write_query(parse_query(request), kind, apply=apply)


@lru_cache(maxsize=_CACHED_QUERIES)  # a client's writes have the same query
def _cached_write_query(raw: str, kind: str, apply: bool) -> WriteQuery:  # noqa: FBT001
    return write_query(parse(raw), kind, apply=apply)


def write_query(query: Query, kind: str, *, apply: bool = False) -> WriteQuery:
    """Decode and validate the options of a write. `kind` is CreateOptions, UpdateOptions or PatchOptions.

    Raises:
        StatusError: 422 with a cause for each invalid option.
    """
    validation, dry_run, manager = text(query, "fieldValidation"), query.get("dryRun", []), text(query, "fieldManager")
    found: list[field.FieldError] = []
    if apply and not manager:
        found.append(field.required(field.Path("fieldManager"), "is required for apply patch"))
    elif kind == "PatchOptions" and not apply and "force" in query:
        found.append(field.forbidden(field.Path("force"), "may not be specified for non-apply patch"))
    found += validate_field_manager(manager, field.Path("fieldManager"))
    found += _check_dry_run(dry_run)
    if validation not in {"", IGNORE, WARN, STRICT}:
        found.append(field.not_supported(field.Path("fieldValidation"), validation, ["", IGNORE, STRICT, WARN]))
    _raise_invalid(kind, found)
    return WriteQuery(bool(dry_run), validation or WARN, manager, apply and bool(flag(query, "force")), validation)


def _check_dry_run(values: Sequence[str]) -> list[field.FieldError]:
    """Return the field errors of dryRun. Its only valid value is `All`."""
    if all(item == _ALL for item in values):
        return []
    return [field.not_supported(field.Path("dryRun"), list(values), [_ALL])]


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
    """Whether to delete an unreadable object. Readable ones are then refused."""


_NO_DELETE_OPTIONS: Final = DeleteQuery()


def delete_query(query: Query) -> DeleteQuery:
    """Decode the options of a delete without a body.

    Raises:
        StatusError: 400 for a malformed value.
    """
    if not query:
        return _NO_DELETE_OPTIONS
    # resourceVersion is also an option of a deletecollection's list
    uid, version = text(query, "uid"), text(query, "resourceVersion")
    return DeleteQuery(
        grace_period_seconds=integer(query, "gracePeriodSeconds"),
        orphan_dependents=flag(query, "orphanDependents"),
        propagation_policy=text(query, "propagationPolicy") if "propagationPolicy" in query else None,
        dry_run=tuple(query.get("dryRun", ())),
        preconditions=Preconditions(uid or None, version or None) if uid or version else None,
        ignore_read_error=bool(flag(query, UNREADABLE)),
    )


def check_delete(options: DeleteQuery) -> None:
    """Validate the options of a delete.

    Raises:
        StatusError: 422 with a cause for each invalid option.
    """
    path, found = field.Path("propagationPolicy"), []
    policy = options.propagation_policy
    if options.orphan_dependents is not None and policy is not None:
        found.append(field.invalid(path, field.typed_text(policy), "orphanDependents and deletionPropagation cannot be both set"))
    if policy is not None and policy not in _POLICIES:
        found.append(field.not_supported(path, field.typed_text(policy), [*_POLICIES, "nil"]))
    found += _check_dry_run(options.dry_run)
    if options.ignore_read_error:
        needs_readable = {
            "propagationPolicy": policy,
            "orphanDependents": options.orphan_dependents,
            "gracePeriodSeconds": options.grace_period_seconds,
            "preconditions": options.preconditions,
        }
        for name, given in needs_readable.items():
            if given is not None:
                found.append(field.invalid(field.Path(UNREADABLE), value=True, detail=f"cannot be set together with .{name}"))
    _raise_invalid("DeleteOptions", found)


def reject_unsafe_delete(options: DeleteQuery) -> None:
    """Reject the option for unreadable objects, which deletecollection lacks.

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


def meta_field_label(label: str) -> None:
    """Accept field labels that every object has.

    Raises:
        ValueError: for any other label.
    """
    if label not in {"metadata.name", "metadata.namespace"}:
        raise ValueError(f'{formatting.quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"')
