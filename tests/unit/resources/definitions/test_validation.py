"""Validation of definitions, compared with recorded responses of the reference."""

from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.resources.definitions.codec import RESOURCE
from apiext.resources.definitions.validation.definition import validate_create, validate_status_update, validate_update
from apiext.resources.definitions.validation.known_schemas import PLAIN, VALID, VALID_IF_STORED
from apiext.resources.definitions.validation.warnings import warnings
from apiext.resources.registry.customresourcedefinition import CustomResourceDefinitionStatusStrategy, CustomResourceDefinitionStrategy
from apiext.resources.registry.metadata import before_update, check_resource_version, own
from apiext.resources.registry.request_context import RequestContext
from hack.lib.real_crds import NO_REAL, REAL
from tests.unit.resources.definitions.recorded import body, decoded, pairs, records

FILES = sorted(REAL.glob("*/*.json"))


def _title(record: dict[str, Any]) -> str:
    errors = record.get("errors") or [["valid", ""]]
    return record.get("case") or f"{errors[0][0]} {errors[0][1][:60]}"


def _prepared(record: dict[str, Any]) -> dict[str, Any]:
    crd = decoded(record["body"])
    CustomResourceDefinitionStrategy().prepare_for_create(RequestContext(), crd)
    return crd


def _validate_beforehand(old: dict[str, Any], new: dict[str, Any]) -> None:
    for crd in (old, new):
        validate_create(crd)
        validate_update(crd, crd)
        warnings(crd)


@pytest.fixture(params=["new", "known"])
def knows_schemas(request: pytest.FixtureRequest) -> bool:
    """Forget the schemas of earlier tests. Return whether the test validates its schemas beforehand."""
    for known in (VALID, VALID_IF_STORED, PLAIN):
        known.clear()
    return bool(request.param == "known")


@pytest.mark.parametrize("record", [record for record in records("create") if record["code"] != 400], ids=_title)
def test_creation_equals_the_reference(record: dict[str, Any], knows_schemas: bool) -> None:  # noqa: FBT001
    """Return kube-apiserver's field errors for a creation, and its warnings for a valid one, also of schemas that were validated before."""
    crd = _prepared(record)
    if knows_schemas:
        _validate_beforehand(crd, crd)

    errors = pairs(validate_create(crd))

    assert record.get("errors", []) == errors
    if not errors:
        assert record.get("warnings", []) == warnings(crd)


@pytest.mark.parametrize("record", records("update"), ids=_title)
def test_update_equals_the_reference(record: dict[str, Any], knows_schemas: bool) -> None:  # noqa: FBT001
    """Return kube-apiserver's field errors, result and warnings for an update, also of schemas that were validated before."""
    if knows_schemas:
        _validate_beforehand(decoded(record["old"]), decoded(record["new"]))
    old, new = decoded(record["old"]), own(decoded(record["new"]))
    status = record["subresource"] == "status"
    strategy = CustomResourceDefinitionStatusStrategy() if status else CustomResourceDefinitionStrategy()
    ctx = RequestContext()
    found: list[list[str]] = []

    try:
        check_resource_version(
            new["metadata"], int(old["metadata"]["resourceVersion"]), resource=RESOURCE, name="foos.example.com", unconditional=False
        )
        before_update(ctx, new, old, strategy, namespaced=False)
    except StatusError as error:
        found = sorted([cause["field"], cause["message"]] for cause in (error.details or {})["causes"])

    assert record.get("errors", []) == found
    if not found:
        del new["metadata"]["resourceVersion"]
        assert record["result"] == new
        assert record.get("warnings", []) == ctx.warnings


@pytest.mark.skipif(not FILES, reason=NO_REAL)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_accepts_real_definitions(path: Path) -> None:
    """Accept every published definition; reject fragments with what they lack."""
    given = json_codec.loads(path.read_bytes())
    crd = _prepared({"body": given})

    fields = {error.field for error in validate_create(crd)}

    assert fields == (set() if "group" in given["spec"] else FRAGMENT)


FRAGMENT = {
    "metadata.name",
    "spec.group",
    "spec.scope",
    "spec.versions",
    "spec.names.plural",
    "spec.names.singular",
    "spec.names.kind",
    "spec.names.listKind",
    "status.storedVersions",
}


def test_accepts_an_unchanged_definition() -> None:
    """Return no errors for an update with the same definition, or of its status."""
    crd = _prepared({"body": body()})
    crd["metadata"]["resourceVersion"] = "1"

    assert validate_update(crd, crd) == []
    assert validate_status_update(crd, crd) == []
