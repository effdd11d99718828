"""Sequences of requests that every built-in kind answers like the reference."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.helpers.write_steps import JSON_PATCH, MERGE, STRATEGIC, applied, current, operations

TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
_DRY: Final = "?dryRun=All"
NAMES: Final = ("", "A", "a.b", "a:b", "a/b", "a%b", "..", "system:a:B", "x" * 254, "-a")
"""Names, most of which are invalid for some kinds."""
METADATA: Final[tuple[Any, ...]] = (
    {"labels": {"A B": "c d"}, "annotations": {"e f": "x"}, "finalizers": ["x y", "no-domain"]},
    {"generateName": "gen-"},
    {"namespace": "other"},
    {"generation": 4, "uid": "x", "creationTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 4},
    {"resourceVersion": "1"},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "u"}]},
    {"managedFields": [{"manager": "x", "operation": "Update", "apiVersion": "v9", "fieldsType": "FieldsV1", "fieldsV1": {"f:x": {}}}]},
    1,
)
"""Unusual metadata."""


def creations(collection: str, base: dict[str, Any], objects: Iterable[dict[str, Any]]) -> list[Step]:
    """Return dry creations of a base object with other members, in each mode of field validation."""
    return [
        Step("POST", f"{collection}{_DRY}&fieldValidation={mode}", base | members) for members in objects for mode in ("Strict", "Ignore")
    ]


def metadata_steps(collection: str, base: dict[str, Any]) -> list[Step]:
    """Return dry creations of objects with unusual names and metadata."""
    named = [base | {"metadata": base["metadata"] | {"name": name}} for name in NAMES]
    odd = [base | {"metadata": one if one == 1 else {"name": "odd"} | one} for one in METADATA if one == 1 or "generateName" not in one]
    odd += [base | {"metadata": one} for one in METADATA if one != 1 and "generateName" in one]
    return [Step("POST", collection + _DRY, obj) for obj in (*named, *odd, {"metadata": {"name": "bare"}}, {}, base | {"kind": "Other"})]


def life(
    collection: str,
    base: dict[str, Any],
    changes: Sequence[dict[str, Any]],
    selectors: Iterable[str] = (),
    unconverted: Sequence[dict[str, Any]] = (),
    *,
    conditional: bool = False,
) -> list[Step]:
    """Return the requests of an object's life: it is created, read in all forms, changed in all ways, and deleted.

    `unconverted` are changes with type errors that the reference words differently in strategic merge patches. `conditional`: updates
    must name a resourceVersion.
    """
    name = base["metadata"]["name"]
    one = f"{collection}/{name}"
    kept = base | {"metadata": base["metadata"] | current(one)}
    applied_form = {"apiVersion": base["apiVersion"], "kind": base["kind"], "metadata": {"name": name}}
    return [
        Step("GET", f"{collection}?labelSelector=life%3Dx", headers=TABLE),
        Step("POST", collection, base),
        Step("POST", collection, base),
        Step("GET", one),
        Step("GET", one, headers=TABLE),
        Step("GET", f"{collection}?fieldSelector=metadata.name%3D{name}"),
        Step("GET", f"{collection}?fieldSelector=metadata.name%3D{name}", headers=TABLE),
        *(Step("GET", f"{collection}?fieldSelector={selector}") for selector in selectors),
        Step("PUT", one, base),
        Step("PUT", one, kept),
        Step("PUT", one, base | {"metadata": base["metadata"] | {"resourceVersion": "1"}}),
        Step("PUT", one, base | {"metadata": base["metadata"] | {"name": "other"}}),
        Step("PUT", f"{collection}/new{_DRY}", base | {"metadata": {"name": "new"}}),
        *_changes(one, kept if conditional else base, applied_form, changes, unconverted),
        Step("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, MERGE),
        Step("PATCH", one, operations(("add", "/metadata/annotations", {"c": "d"}), ("test", "/kind", base["kind"])), JSON_PATCH),
        applied(one, applied_form | {"metadata": {"name": name, "labels": {"e": "f"}}}),
        applied(one, applied_form | {"metadata": {"name": name}}),
        applied(f"{collection}/applied", base | {"metadata": {"name": "applied"}}, "fieldManager=x&dryRun=All"),
        Step("GET", one),
        Step("DELETE", one + _DRY),
        Step("PATCH", one, {"metadata": {"finalizers": ["a.b/c"]}}, MERGE),
        Step("DELETE", one),
        Step("PATCH", one, {"metadata": {"finalizers": None}}, MERGE),
        Step("POST", collection, base),
        Step("DELETE", one),
        Step("GET", one),
        Step("DELETE", one),
    ]


def _changes(
    one: str, base: dict[str, Any], applied_form: dict[str, Any], changes: Sequence[dict[str, Any]], unconverted: Sequence[dict[str, Any]]
) -> list[Step]:
    """Return dry changes of an object by updates, patches and applies."""
    return [
        *(Step("PUT", one + _DRY, base | change) for change in changes),
        *(Step("PATCH", one + _DRY, change, MERGE) for change in changes),
        *(Step("PATCH", one + _DRY, change, STRATEGIC) for change in changes if change not in unconverted),
        *(applied(one, applied_form | change, "fieldManager=x&dryRun=All") for change in changes),
        *(applied(one, applied_form | change, "fieldManager=x&force=true&dryRun=All") for change in changes),
    ]
