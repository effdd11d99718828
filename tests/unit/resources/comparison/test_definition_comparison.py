"""Changes of a whole definition, and what its versions have to do with it."""

from __future__ import annotations

import copy
from typing import Any, Final

import pytest

from apiext.resources.comparison.change import Change, Grade, Hurts
from apiext.resources.comparison.definition_comparison import compare_definitions
from apiext.resources.comparison.grades import Grades
from tests.support.builders.crds import crd, definition, stored_crd, version, widget_crd
from tests.support.builders.crds import parsed as stored

GRADES: Final = Grades()
SERVICE: Final = {"name": "hook", "namespace": "default"}


def webhook(**client: Any) -> dict[str, Any]:
    """Return a conversion by webhook."""
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


BY_SERVICE: Final = webhook(service=SERVICE)
BY_URL: Final = webhook(url="https://a")


def compared(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """Return the changes between two CRDs as a client creates them."""
    return compare_definitions(definition(old), definition(new), GRADES)


def rules(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the rules of the changes."""
    return [change.rule for change in compared(old, new)]


def names(**more: Any) -> dict[str, Any]:
    """Return the members of a CRD's spec with other names."""
    return {"names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"} | more}


@pytest.mark.parametrize(
    "old, new, there, back",
    [
        ({}, {"scope": "Cluster"}, "scopeChanged", "scopeChanged"),
        ({}, {"group": "example.org"}, "groupChanged", "groupChanged"),
        ({}, names(kind="Gadget"), "kindChanged", "kindChanged"),
        ({}, names(plural="gadgets"), "pluralChanged", "pluralChanged"),
        ({}, names(listKind="Widgets"), "listKindChanged", "listKindChanged"),
        ({}, names(singular="w"), "singularChanged", "singularChanged"),
        ({}, names(shortNames=["w"]), "shortNameAdded", "shortNameRemoved"),
        ({}, names(categories=["all"]), "categoryAdded", "categoryRemoved"),
        ({}, {"preserveUnknownFields": True}, "pruningDisabled", "pruningEnabled"),
        ({}, {"conversion": BY_SERVICE}, "conversionWebhookAdded", "conversionWebhookRemoved"),
        ({"conversion": BY_SERVICE}, {"conversion": BY_URL}, *["conversionWebhookMoved"] * 2),
        ({"conversion": BY_SERVICE}, {"conversion": webhook(service=SERVICE | {"port": 8443})}, *["conversionWebhookMoved"] * 2),
        ({"conversion": BY_URL}, {"conversion": webhook(url="https://a", caBundle="YQ==")}, *["conversionCABundleChanged"] * 2),
    ],
)
def test_both_directions(old: dict[str, Any], new: dict[str, Any], there: str, back: str) -> None:
    """Find the rule of a change of the whole definition, and that of the opposite change."""
    before, after = crd(**old), crd(**new)

    assert rules(before, after) == [there]
    assert rules(after, before) == [back]
    assert compared(before, after)[0].version == ""


def test_review_versions() -> None:
    """Report another order of conversionReviewVersions, too: the server takes the first that it knows."""
    old, new = webhook(url="https://a"), webhook(url="https://a")
    old["webhook"]["conversionReviewVersions"] = ["v1", "v1beta1"]
    new["webhook"]["conversionReviewVersions"] = ["v1beta1", "v1"]

    (found,) = compared(crd(conversion=old), crd(conversion=new))

    assert (found.rule, found.message) == (
        "conversionReviewVersionsChanged",
        "conversionReviewVersions changed from v1, v1beta1 to v1beta1, v1",
    )


@pytest.mark.parametrize("other", [[], [version("v2")]])
def test_conversion_of_one_version(other: list[dict[str, Any]]) -> None:
    """Grade changes of conversion as notes while there is only one version: nothing is converted."""
    versions = [version("v1", storage=True), *other]

    (found,) = compared(crd("widgets", *versions), crd("widgets", *versions, conversion=BY_URL))

    expected = (Hurts.CLIENTS, Grade.WARNING) if other else (Hurts.NOBODY, Grade.NOTE)
    assert (found.rule, found.hurts, found.grade) == ("conversionWebhookAdded", *expected)


def test_default_port_of_a_service() -> None:
    """Find no change where the new definition only spells out a default."""
    spelled = webhook(service=SERVICE | {"port": 443})

    assert rules(crd(conversion=webhook(service=SERVICE)), crd(conversion=spelled)) == []
    assert rules(crd(), crd(conversion={"strategy": "None"}, preserveUnknownFields=False)) == []


def test_a_definition_that_comes_or_goes() -> None:
    """Report one change if there is only one definition, none if there is no definition."""
    only = definition(crd())

    (added,), (removed,) = compare_definitions(None, only, GRADES), compare_definitions(only, None, GRADES)

    assert (added.rule, added.hurts, added.grade) == ("definitionAdded", Hurts.NOBODY, Grade.NOTE)
    assert (removed.rule, removed.hurts, removed.grade) == ("definitionRemoved", Hurts.CLIENTS, Grade.ERROR)
    assert compare_definitions(None, None, GRADES) == []


def test_versions_in_order() -> None:
    """Report the whole definition first, then the versions of the new definition, then the removed ones."""
    old = crd("widgets", version("v1alpha1"), version("v1beta1"), version("v1", storage=True))
    new = crd("widgets", version("v2", storage=True), version("v1", deprecated=True), scope="Cluster")

    found = [(change.version, change.rule) for change in compared(old, new)]

    assert found == [
        ("", "scopeChanged"),
        ("", "storageVersionChanged"),
        ("v2", "versionAdded"),
        ("v1", "versionDeprecated"),
        ("v1alpha1", "versionRemoved"),
        ("v1beta1", "versionRemoved"),
    ]


def test_stored_versions() -> None:
    """Report versions of status.storedVersions that the new definition lacks."""
    old = stored_crd("widgets", versions=[version("v1alpha1", served=False), version("v1", storage=True)])
    old["status"]["storedVersions"] = ["v1alpha1", "v1"]
    new = definition(crd("widgets", version("v1", storage=True)))

    found = [(change.version, change.rule) for change in compare_definitions(stored(old), new, GRADES)]

    assert found == [("", "storedVersionRemoved"), ("v1alpha1", "unservedVersionRemoved")]


def test_changes_of_versions_that_nobody_can_use() -> None:
    """Grade what only restricts values as a note if clients cannot use the version. Objects stored in it may still lose fields."""
    old, new = widget_crd(), widget_crd()
    unserved = copy.deepcopy(old["spec"]["versions"][0]) | {"name": "v0", "storage": False, "served": False}
    changed = copy.deepcopy(unserved)
    spec = changed["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["size"]["maxLength"] = 3
    del spec["replicas"]
    old["spec"]["versions"].append(unserved)
    new["spec"]["versions"].append(changed)

    found = [(change.rule, change.hurts, change.grade) for change in compared(old, new)]

    assert found == [
        ("fieldRemoved", Hurts.CLIENTS, Grade.ERROR),
        ("maxLengthNarrowed", Hurts.NOBODY, Grade.NOTE),
    ]


def test_a_version_that_is_no_longer_served() -> None:
    """Report an error for the clients of the version."""
    old = crd("widgets", version("v1", storage=True), version("v2"))
    new = crd("widgets", version("v1", storage=True), version("v2", served=False))

    assert [(change.rule, change.hurts, change.grade) for change in compared(old, new)] == [("versionUnserved", Hurts.CLIENTS, Grade.ERROR)]
