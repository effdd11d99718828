"""The options of each verb, decoded from the query and checked.

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
_MAX_MANAGER: Final = 128
_POLICIES: Final = ("Foreground", "Background", "Orphan")
UNREADABLE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
_NOT_OLDER: Final = VersionMatch.NOT_OLDER_THAN

FieldLabel = Callable[[str, str], tuple[str, str]]
"""Checks a field selector's label and value for a kind, and gives both as they are stored; raises ValueError."""


def _raise_invalid(kind: str, found: Sequence[field.FieldError]) -> None:
    if found:
        raise errors.invalid(GroupKind(META_GROUP, kind), "", found)


# --- lists and watches ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What a list, a watch or a deletecollection asks for."""

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
        """For the registry's list."""
        return ListOptions(
            selection=self.selection,
            resource_version=self.resource_version,
            match=VersionMatch(self.match),
            limit=max(self.limit, 0),
            continue_token=self.continue_token,
        )

    def watch_options(self, *, timeout: float) -> WatchOptions:
        """For the registry's watch, which ends after so many seconds."""
        return WatchOptions(
            selection=self.selection,
            resource_version=self.resource_version,
            match=VersionMatch(self.match),
            send_initial_events=self.send_initial_events,
            allow_bookmarks=self.allow_bookmarks,
            timeout=timeout,
        )


_PLAIN: Final = ListQuery(
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
    """Decode and check; `name` restricts to one object, `watch` tells what `?watch` need not say.

    Raises:
        StatusError: 400 for what cannot be read, 422 for what does not go together.
    """
    if not query and not name and not watch:
        return _PLAIN
    timeout, limit = integer(query, "timeoutSeconds"), integer(query, "limit") or 0
    asked = ListQuery(
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
    if explicit_watch and asked.send_initial_events is None and not asked.match and asked.resource_version in {"", "0"}:
        # The reference streams what there is, and says where that ends (SetListOptionsDefaults).
        asked = replace(asked, send_initial_events=True, match=_NOT_OLDER)
    _raise_invalid("ListOptions", _check_watch(asked) if explicit_watch else _check_list(asked))
    return replace(asked, selection=_transform(asked.selection, field_label, name))


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


def _check_list(asked: ListQuery) -> list[field.FieldError]:
    found: list[field.FieldError] = []
    path = field.Path("resourceVersionMatch")
    if asked.match:
        if not asked.resource_version:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if asked.continue_token:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
        if asked.match not in {VersionMatch.EXACT, _NOT_OLDER}:
            found.append(field.not_supported(path, asked.match, ["Exact", "NotOlderThan", ""]))
        if asked.match == VersionMatch.EXACT and asked.resource_version == "0":
            found.append(field.forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if asked.send_initial_events is not None:
        found.append(field.forbidden(field.Path("sendInitialEvents"), "sendInitialEvents is forbidden for list"))
    return found


def _check_watch(asked: ListQuery) -> list[field.FieldError]:
    found: list[field.FieldError] = []
    path = field.Path("resourceVersionMatch")
    if asked.send_initial_events is not None and asked.match != _NOT_OLDER:
        found.append(field.forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if asked.match:
        if asked.send_initial_events is None:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
        if asked.match != _NOT_OLDER:
            found.append(field.not_supported(path, asked.match, ["NotOlderThan"]))
        if asked.continue_token:
            found.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return found


# --- writes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteQuery:
    """What a create, update or patch asks for."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = WARN
    force: bool | None = None


_PLAIN_WRITE: Final = WriteQuery()


def write_query(query: Query, kind: str, *, patch: bool = False, apply: bool = False) -> WriteQuery:
    """Decode and check the options of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions.

    Raises:
        StatusError: 422 naming every parameter that is wrong.
    """
    if not query and not apply:
        return _PLAIN_WRITE
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
    return WriteQuery(bool(dry_run), manager, validation or WARN, force)


def _check_manager(manager: str) -> list[field.FieldError]:
    path = field.Path("fieldManager")
    found: list[field.FieldError] = []
    if len(manager.encode()) > _MAX_MANAGER:
        found.append(field.too_long(path, _MAX_MANAGER))
    position = 0
    for char in manager:
        if not (char == " " or char.isprintable()):
            shown = f"U+{ord(char):04X}"
            found.append(field.invalid(path, manager, f"invalid character {shown} (at position {position})"))
        position += len(char.encode("utf-8", "replace"))
    return found


def check_dry_run(values: Sequence[str]) -> list[field.FieldError]:
    """Field errors of dryRun: `All` is all it may say."""
    if all(item == _ALL for item in values):
        return []
    return [field.not_supported(field.Path("dryRun"), list(values), [_ALL])]


def manager_or_agent(manager: str, user_agent: str) -> str:
    """The field manager: as given, else what stands before the slash in the User-Agent."""
    return manager or _manager_of(user_agent.partition("/")[0])


@lru_cache(maxsize=256)  # few programs send many requests, and a name is looked at character by character
def _manager_of(program: str) -> str:
    name, size = "", 0
    for char in program:
        if not (char == " " or char.isprintable()):
            continue
        size += len(char.encode("utf-8", "replace"))
        if size > _MAX_MANAGER:
            break
        name += char
    return name


# --- deletes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeleteQuery:
    """What a delete asks for, in the query or in a body."""

    grace_period_seconds: int | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()
    preconditions: Preconditions | None = None
    ignore_read_error: bool = False
    """Delete what cannot be read, and nothing else."""


_PLAIN_DELETE: Final = DeleteQuery()


def delete_query(query: Query) -> DeleteQuery:
    """Decode the options of a delete without a body. Raises StatusError (400)."""
    if not query:
        return _PLAIN_DELETE
    return DeleteQuery(
        grace_period_seconds=integer(query, "gracePeriodSeconds"),
        orphan_dependents=flag(query, "orphanDependents"),
        propagation_policy=text(query, "propagationPolicy") if "propagationPolicy" in query else None,
        dry_run=tuple(query.get("dryRun", ())),
        preconditions=_query_preconditions(query),
        ignore_read_error=bool(flag(query, UNREADABLE)),
    )


def _query_preconditions(query: Query) -> Preconditions | None:
    """What `uid` and `resourceVersion` ask of the object; a deletecollection reads the latter as an option of its list too."""
    uid, version = text(query, "uid"), text(query, "resourceVersion")
    return Preconditions(uid or None, version or None) if uid or version else None


def check_delete(asked: DeleteQuery) -> None:
    """Raises StatusError (422) naming every option that is wrong."""
    path, found = field.Path("propagationPolicy"), []
    policy = asked.propagation_policy
    if asked.orphan_dependents is not None and policy is not None:
        found.append(field.invalid(path, policy, "orphanDependents and deletionPropagation cannot be both set"))
    if policy is not None and policy not in _POLICIES:
        found.append(field.not_supported(path, policy, [*_POLICIES, "nil"]))
    found += check_dry_run(asked.dry_run)
    if asked.ignore_read_error:
        found += _check_unreadable(asked)
    _raise_invalid("DeleteOptions", found)


def _check_unreadable(asked: DeleteQuery) -> list[field.FieldError]:
    """What asks something of the object cannot hold for one that nobody can read."""
    others = {
        "propagationPolicy": asked.propagation_policy,
        "orphanDependents": asked.orphan_dependents,
        "gracePeriodSeconds": asked.grace_period_seconds,
        "preconditions": asked.preconditions,
    }
    path = field.Path(UNREADABLE)
    return [
        field.invalid(path, asked.ignore_read_error, f"cannot be set together with .{name}")
        for name, given in others.items()
        if given is not None
    ]


def refuse_unreadable(asked: DeleteQuery) -> None:
    """Raises StatusError (422) for an option that a deletecollection does not have."""
    if asked.ignore_read_error:
        detail = "is not allowed with DELETECOLLECTION, try again after removing the option"
        _raise_invalid("DeleteOptions", [field.invalid(field.Path(UNREADABLE), asked.ignore_read_error, detail)])


def check_export(query: Query) -> None:
    """Refuse the `export` that GET once had. Raises StatusError (400)."""
    if flag(query, "export"):
        raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")


def meta_field_label(label: str, value: str) -> tuple[str, str]:
    """The field labels that every object has; raises ValueError for others."""
    if label in {"metadata.name", "metadata.namespace"}:
        return label, value
    known = ", ".join(map(go_format.quote, ("metadata.name", "metadata.namespace")))
    raise ValueError(f"{go_format.quote(label)} is not a known field selector: only {known}")
