"""Parsed definition."""

import pytest

from apiext.resources.definitions.definition import AGE, Definition, PrinterColumn
from tests.support.builders.crds import parsed
from tests.unit.resources.definitions.recorded import body, decoded


def _definition(**spec: object) -> Definition:
    return parsed(decoded(body(**spec)), revision=7)


def test_parses_names_scope_and_versions() -> None:
    """Parse names, scope, versions and revision."""
    definition = _definition(scope="Cluster")

    assert (definition.name, definition.group, definition.namespaced, definition.revision) == ("foos.example.com", "example.com", False, 7)
    assert (definition.names.plural, definition.names.singular, definition.names.list_kind) == ("foos", "foo", "FooList")
    assert definition.storage_version is definition.version("v1")
    assert definition.version("v2") is None
    assert (str(definition.resource), str(definition.kind)) == ("foos.example.com", "Foo.example.com")


def test_prefers_accepted_names() -> None:
    """Use the accepted names instead of those in the spec."""
    crd = decoded(body())
    crd["status"]["acceptedNames"] = {"plural": "foos", "kind": "Old", "listKind": "OldList"}

    definition = parsed(crd)

    assert definition.names.kind == "Old"
    assert definition.names.singular == ""


def test_parses_versions() -> None:
    """Parse subresources, columns, selectable fields and deprecation of each version."""
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    full = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": schema,
        "subresources": {"status": {}, "scale": scale},
        "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a", "priority": 1}],
        "selectableFields": [{"jsonPath": ".a"}],
        "deprecated": True,
        "deprecationWarning": "old",
    }
    bare = {"name": "v2", "served": False, "storage": False, "schema": schema}
    first, second = _definition(versions=[full, bare]).versions

    assert (first.has_status, first.scale, first.deprecated, first.deprecation_warning) == (True, scale, True, "old")
    assert first.printer_columns == (PrinterColumn("A", "string", ".a", priority=1),)
    assert first.selectable_fields == (".a",)
    assert first.schema == schema["openAPIV3Schema"]
    assert (second.has_status, second.scale, second.printer_columns, second.selectable_fields) == (False, None, (AGE,), ())


def test_served_versions() -> None:
    """Exclude versions that are only stored from the served versions."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    stored = {"name": "v1", "served": False, "storage": True, "schema": schema}
    served = {"name": "v2", "served": True, "storage": False, "schema": schema}

    assert [version.name for version in _definition(versions=[stored, served]).served_versions] == ["v2"]


def test_parses_stored_schemas_on_demand() -> None:
    """Keep no schemas of a stored item in memory, and return them on demand."""
    crd = decoded(body())

    definition = parsed(crd, revision=3)

    assert "schema" not in definition.head["spec"]["versions"][0]
    assert definition.versions[0].schema == {"type": "object"}
    assert definition.object == crd
    assert definition.revision == 3


def test_requires_a_storage_version() -> None:
    """Raise ValueError for a definition without a storage version."""
    with pytest.raises(ValueError, match="no storage version"):
        _definition(versions=[])
