"""Definitions as the server would create or update them."""

from typing import Any

import pytest

from apiext.resources.definitions.codec import canonical
from apiext.resources.evaluation.definition_creation import (
    DefinitionRefusedError,
    create_definition,
    parse_definition,
    update_definition,
    validate_update,
)
from apiext.tools.releases.crd_files import create_release
from tests.support.builders.crds import crd, stored_crd, version


def _draft(*versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return canonical(crd("widgets", *versions, **more))


async def test_creates_a_definition() -> None:
    """Set defaults and the status of a new definition, whatever status and system fields the file has."""
    draft = _draft() | {"status": {"storedVersions": ["v0"], "acceptedNames": {"plural": "x", "kind": "X"}, "conditions": None}}
    draft["metadata"] |= {"resourceVersion": "17", "uid": "u", "generation": 9}
    definition = await create_definition(draft)

    assert definition.is_established
    assert definition.head["status"]["storedVersions"] == ["v1"]
    assert definition.head["metadata"]["generation"] == 1
    assert definition.head["spec"]["conversion"] == {"strategy": "None"}
    assert draft["metadata"]["uid"] == "u"
    assert (await create_definition(draft)).head["metadata"] == definition.head["metadata"]


async def test_refuses_as_the_server_does() -> None:
    """Return the reference's field errors, one by one."""
    draft = _draft(version("v1", schema={"type": "object", "properties": {"a": {}}}), version("v2"))
    with pytest.raises(DefinitionRefusedError) as refusal:
        await create_definition(draft)

    assert "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields" in (
        refusal.value.reasons
    )
    assert any("must have exactly one version marked as storage version" in reason for reason in refusal.value.reasons)


async def test_accepts_names_once() -> None:
    """Establish one of two definitions with the same kind in a group, as the server does."""
    release = await create_release("here", [_draft(), canonical(crd("widgets2"))])

    assert [definition.is_established for definition in release.definitions.values()] == [True, False]
    assert (await create_definition(_draft(), [await create_definition(canonical(crd("gadgets")))])).names_accepted is False


async def test_keeps_refused_drafts() -> None:
    """Return refused definitions with their reasons, and as drafts."""
    release = await create_release("here", [_draft(scope="Elsewhere")], remarks=["seen"])

    assert release.definitions == {}
    assert release.refused == {
        "widgets.example.com": ['spec.scope: Unsupported value: "Elsewhere": supported values: "Cluster", "Namespaced"']
    }
    assert list(release.drafts) == ["widgets.example.com"]
    assert (release.remarks, release.is_live) == (["seen"], False)


async def test_updates_a_definition() -> None:
    """Keep the old status, add the new storage version, and count the generation."""
    old = await create_definition(_draft(version("v1", storage=True)))
    new = await create_definition(_draft(version("v1"), version("v2", storage=True)))
    updated = update_definition(old, new)

    assert updated.head["status"]["storedVersions"] == ["v1", "v2"]
    assert updated.head["metadata"]["generation"] == 2
    assert updated.is_established
    assert updated.uid == old.uid
    assert validate_update(old, new) == []


async def test_refuses_an_update() -> None:
    """Refuse to drop a stored version and to change names, with the reference's messages."""
    old = await create_definition(_draft(version("v1", storage=True)))
    dropped = validate_update(old, await create_definition(_draft(version("v2", storage=True))))
    cluster = validate_update(old, await create_definition(_draft(scope="Cluster")))

    assert [reason.partition(";")[0] for reason in dropped] == ['status.storedVersions[0]: Invalid value: "v1": missing from spec.versions']
    assert cluster == ['spec.scope: Invalid value: "Cluster": field is immutable']


async def test_tolerates_in_an_update_what_was_there() -> None:
    """Accept a draft that a creation refuses if the old definition has the same fault already."""
    fault: dict[str, Any] = {"preserveUnknownFields": True}
    old = parse_definition(canonical(stored_crd("widgets", **fault) | {"apiVersion": "apiextensions.k8s.io/v1"}) | _stored_in("v1"))
    draft = _draft(**fault)
    with pytest.raises(DefinitionRefusedError):
        await create_definition(draft)

    assert validate_update(old, draft) == []


def _stored_in(name: str) -> dict[str, Any]:
    found = stored_crd("widgets")["status"]
    return {"status": found | {"storedVersions": [name]}}
