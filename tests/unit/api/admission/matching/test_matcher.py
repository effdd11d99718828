"""Criteria of webhooks and policies, as in webhook/generic/webhook_test.go and policy/matching/matching_test.go."""

from collections.abc import Sequence
from typing import Any

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.matching.criteria import resources_criteria, webhook_criteria
from apiext.api.admission.matching.matcher import Matcher
from apiext.api.admission.object_interfaces import EquivalentResource
from apiext.base.meta.errors import StatusError, timeout
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import AdmissionOperation
from tests.support.refusals import refusal
from tests.unit.api.admission.creations import widget

RULE = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"]}
EXACT = {"rules": [RULE], "namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Exact"}
BETA = EquivalentResource(GroupVersionResource("example.com", "v1beta1", "widgets"), GroupVersionKind("example.com", "v1beta1", "Widget"))
RED = {"matchLabels": {"color": "red"}}
BAD = {"matchExpressions": [{"key": "a", "operator": "?"}]}


class Namespaces:
    """The only namespace, n, with a label."""

    def __init__(self, error: StatusError | None = None) -> None:
        self.asked: list[str] = []
        self._error = error

    async def namespace(self, name: str) -> dict[str, Any] | None:
        """Record the question and answer it."""
        self.asked.append(name)
        if self._error is not None:
            raise self._error
        return {"metadata": {"name": name, "labels": {"color": "red"}}} if name == "n" else None


class Equivalents:
    """Objects that v1beta1 serves, too."""

    def equivalents(self) -> Sequence[EquivalentResource]:
        """Return both versions, as the reference's mapper."""
        own = EquivalentResource(GroupVersionResource("example.com", "v1", "widgets"), GroupVersionKind("example.com", "v1", "Widget"))
        return [own, BETA]


async def match(hook: dict[str, Any], attributes: Attributes, namespaces: Namespaces | None = None) -> str | None:
    """Return the version in which a webhook matches, None if it does not."""
    found = await Matcher(namespaces or Namespaces()).match(webhook_criteria(hook), attributes, attributes.new)
    return None if found is None else found.kind.version


def labelled(**labels: Any) -> dict[str, Any]:
    """Return an object with labels."""
    return {"metadata": {"name": "w", "labels": labels}}


@pytest.mark.parametrize(
    "hook, version",
    [
        ({}, "v1"),
        ({"rules": []}, None),
        ({"rules": [RULE | {"apiVersions": ["v1beta1"]}]}, None),
        ({"rules": [RULE | {"apiVersions": ["v1beta1"]}], "matchPolicy": "Equivalent"}, "v1beta1"),
        ({"rules": [RULE | {"apiVersions": ["v1beta1"]}, RULE], "matchPolicy": "Equivalent"}, "v1"),
        ({"rules": [RULE | {"resources": ["gadgets"]}], "matchPolicy": "Equivalent"}, None),
    ],
    ids=["exact", "no rules", "other version", "equivalent", "own version first", "other resource"],
)
async def test_rules(hook: dict[str, Any], version: str | None) -> None:
    """A rule for the request's own version comes before those for equivalent ones."""
    assert await match(EXACT | hook, widget(objects=Equivalents())) == version


@pytest.mark.parametrize(
    "new, old, expected",
    [
        (labelled(color="red"), None, True),
        (labelled(), labelled(color="red"), True),
        (labelled(), labelled(), False),
        (None, labelled(color="red"), True),
        ({"metadata": {"labels": {"color": "red", "size": 1}}}, None, False),
        ({}, None, False),
    ],
    ids=["new", "old", "neither", "delete", "labels of other types", "no metadata"],
)
async def test_object_selectors(new: dict[str, Any] | None, old: dict[str, Any] | None, *, expected: bool) -> None:
    """The labels of the old or of the new object match."""
    found = await match(EXACT | {"objectSelector": RED}, widget(new=new, old=old))

    assert (found is not None) is expected


@pytest.mark.parametrize("selector, expected", [(RED, True), ({"matchLabels": {"color": "blue"}}, False), ({}, True)])
async def test_namespace_selectors(selector: dict[str, Any], *, expected: bool) -> None:
    """The labels of the namespace match."""
    namespaces = Namespaces()

    found = await match(EXACT | {"namespaceSelector": selector}, widget(), namespaces)

    assert ((found is not None), namespaces.asked) == (expected, ["n"] if selector else [])


async def test_namespaces_are_not_asked_for_what_does_not_match() -> None:
    """A webhook that does not match for another reason needs no namespace."""
    namespaces = Namespaces()
    hook = EXACT | {"namespaceSelector": RED}

    await match(hook | {"rules": []}, widget(), namespaces)
    await match(hook | {"objectSelector": RED}, widget(), namespaces)

    assert namespaces.asked == []


@pytest.mark.parametrize(
    "operation, subresource, expected",
    [(AdmissionOperation.CREATE, "", True), (AdmissionOperation.UPDATE, "status", False), (AdmissionOperation.DELETE, "", False)],
)
async def test_requests_for_namespaces(operation: AdmissionOperation, subresource: str, *, expected: bool) -> None:
    """A namespace that is written has its new labels, any other request for it has the stored ones."""
    resource = GroupVersionResource("", "v1", "namespaces")
    rule = RULE | {"apiGroups": [""], "resources": ["namespaces/*"]}
    write = widget(resource=resource, subresource=subresource, operation=operation, namespace="n", name="n", new=labelled(color="blue"))
    hook = EXACT | {"rules": [rule], "namespaceSelector": {"matchLabels": {"color": "blue"}}}

    assert (await match(hook, write) is not None) is expected


async def test_cluster_scoped_objects() -> None:
    """A namespace selector never excludes cluster-scoped objects."""
    namespaces = Namespaces()

    assert await match(EXACT | {"namespaceSelector": {"matchLabels": {"no": "no"}}}, widget(namespace=""), namespaces) == "v1"
    assert namespaces.asked == []


@pytest.mark.parametrize(
    "hook, namespaces, answer",
    [
        ({"namespaceSelector": RED}, Namespaces(), (404, 'namespaces "gone" not found')),
        ({"namespaceSelector": RED}, Namespaces(timeout("slow")), (500, "Internal error occurred: Timeout: slow")),
        ({"namespaceSelector": BAD}, Namespaces(), (500, 'Internal error occurred: "?" is not a valid label selector operator')),
        ({"objectSelector": BAD}, Namespaces(), (500, 'Internal error occurred: "?" is not a valid label selector operator')),
    ],
    ids=["missing namespace", "failed lookup", "invalid namespace selector", "invalid object selector"],
)
async def test_errors(hook: dict[str, Any], namespaces: Namespaces, answer: tuple[int, str]) -> None:
    """What cannot be decided rejects the write, unless something else does not match."""
    write = widget(namespace="gone")

    caught = await refusal(match(EXACT | hook, write, namespaces))

    assert (caught.code, caught.message) == answer
    assert await match(EXACT | hook | {"rules": []}, write, namespaces) is None


@pytest.mark.parametrize(
    "resources, version",
    [
        ({"resourceRules": [RULE]}, "v1"),
        ({}, "v1"),
        ({"resourceRules": [RULE | {"resourceNames": ["w"]}]}, "v1"),
        ({"resourceRules": [RULE | {"resourceNames": ["v"]}]}, None),
        ({"resourceRules": [RULE | {"apiVersions": ["v1beta1"], "resourceNames": ["w"]}]}, "v1beta1"),
        ({"resourceRules": [RULE | {"apiVersions": ["v1beta1"], "resourceNames": ["v"]}]}, None),
        ({"resourceRules": [RULE], "excludeResourceRules": [RULE | {"resourceNames": ["w"]}]}, None),
        ({"resourceRules": [RULE], "excludeResourceRules": [RULE | {"apiVersions": ["v1beta1"]}]}, None),
        ({"resourceRules": [RULE], "excludeResourceRules": [RULE | {"operations": ["DELETE"]}]}, "v1"),
    ],
)
async def test_resources_of_policies(resources: dict[str, Any], version: str | None) -> None:
    """Rules of policies may name objects, and may exclude requests. Without rules, all requests match."""
    defaults = {"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Equivalent"}
    write = widget(objects=Equivalents())

    found = await Matcher(Namespaces()).match(resources_criteria(defaults | resources), write, write.new)

    assert (found and found.kind.version) == version
