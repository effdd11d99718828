"""Values that policies see in requests of every verb and subresource."""

from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.admission_objects import GROUP, PLAINS, THINGS, THINGS_V2, create, plain, thing
from tests.differential.helpers.write_steps import MERGE, applied, scale
from tests.support.builders.admission import rule

EVERY: Final[dict[str, Any]] = {"matchConstraints": {"resourceRules": [rule("things", "things/*", "plains", group=GROUP)]}}
VERBS: Final = {
    "operation": "request.operation",
    "resource": "request.resource.resource + '/' + request.?subResource.orValue('') + ' ' + request.resource.version",
    "kind": "request.kind.kind + request.kind.version + request.requestKind.kind + request.requestKind.version",
    "name": "request.?name.orValue('') + '@' + request.?namespace.orValue('')",
    "options": "request.options.kind",
    "manager": "has(request.options.fieldManager) ? request.options.fieldManager : ''",
    "object": "object == null ? 'none' : object.kind + ' ' + object.apiVersion",
    "old": "oldObject == null ? 'none' : oldObject.kind + ' ' + oldObject.apiVersion",
    "text": "object == null || !has(object.spec) || !has(object.spec.text) ? '' : object.spec.text",
    "old-text": "oldObject == null || !has(oldObject.spec) || !has(oldObject.spec.text) ? '' : oldObject.spec.text",
    "namespace": "namespaceObject == null ? 'none' : namespaceObject.metadata.name",
    "generation": "object == null || !has(object.metadata.generation) ? '' : string(object.metadata.generation)",
}
"""Texts, which warnings show."""


def verbs() -> list[Step]:
    """Return requests of every verb and subresource."""
    one = f"{THINGS}/limit"
    return [
        create(thing("x", text="new"), "?dryRun=All&fieldManager=m"),
        create(thing("x", metadata={"generateName": "gen-"}), "?dryRun=All"),
        create(plain(), "?dryRun=All", PLAINS),
        create(thing("x", "v2"), "?dryRun=All", THINGS_V2),
        Step("PATCH", one, {"spec": {"text": "changed"}}, MERGE),
        Step("PATCH", f"{one}?dryRun=All&fieldManager=m", {"spec": {"text": "again"}}, MERGE),
        Step("PUT", f"{one}?dryRun=All", thing("limit", text="put")),
        applied(one, thing("limit", text="applied"), "fieldManager=a&force=true&dryRun=All"),
        applied(f"{THINGS}/x", thing("x", text="applied"), "fieldManager=a&dryRun=All"),
        Step("PATCH", f"{one}/status?dryRun=All", {"status": {"phase": "x"}}, MERGE),
        Step("PUT", f"{one}/scale?dryRun=All", scale("limit", {"namespace": "default"}, spec={"replicas": 5})),
        Step("PATCH", f"{THINGS_V2}/limit?dryRun=All", {"spec": {"text": "v2"}}, MERGE),
        Step("DELETE", f"{one}?dryRun=All"),
        Step("DELETE", f"{one}?dryRun=All&propagationPolicy=Orphan"),
        Step("DELETE", f"{THINGS}?dryRun=All"),
        Step("DELETE", f"{PLAINS}/limit?dryRun=All"),
    ]
