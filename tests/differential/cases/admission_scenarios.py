"""Configurations of webhooks, with the requests that meet them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.admission_objects import (
    GROUP,
    PLAINS,
    RULE,
    THINGS,
    THINGS_V2,
    Json,
    create,
    plain,
    thing,
)
from tests.differential.helpers.write_steps import MERGE, applied, scale
from tests.support.admission_webhook import AdmissionAnswer, answering, denying, patching
from tests.support.builders.admission import hook, mutating, rule, validating

A: Final = f"{THINGS}/a"
SCALE: Final = Step("PUT", f"{A}/scale?dryRun=All", scale(metadata={"namespace": "default"}, spec={"replicas": 5}))
STATUS: Final = Step("PATCH", f"{A}/status?dryRun=All", {"status": {"phase": "x"}}, MERGE)
TOUCH: Final = Step("PATCH", f"{A}?dryRun=All", {"spec": {"text": "touched"}}, MERGE)
DELETE: Final = Step("DELETE", f"{A}?dryRun=All")
CREATE: Final = create(thing("x"), "?dryRun=All")
EVERY: Final = (CREATE, TOUCH, STATUS, SCALE, DELETE)
"""Dry requests about Thing a and a new one."""
ANN: Final = {
    "Impersonate-User": "ann",
    "Impersonate-Uid": "some-uid",
    "Impersonate-Group": "system:masters",
    "Impersonate-Extra-Some.Key%2fa": "one",
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """Configurations, what the webhooks answer, and requests. Thing a exists; no request may leave others."""

    configurations: Sequence[Json]
    steps: Sequence[Step]
    answers: Mapping[str, AdmissionAnswer] = field(default_factory=dict)


def _both(name: str, *hooks: Json) -> list[Json]:
    """Return a mutating and a validating configuration of the same webhooks."""
    mutators = [one | {"name": f"m-{one['name']}"} for one in hooks]
    return [mutating(name, *mutators), validating(name, *hooks)]


def _hooks(**members: Json) -> list[Json]:
    """Return webhooks by name, each for everything, with other members."""
    return [hook(f"{name}.example.com", *more.pop("rules", [RULE]), **more) for name, more in members.items()]


def _rules(**rules: Json) -> list[Json]:
    return _hooks(**{name: {"rules": [one]} for name, one in rules.items()})


def _add(path: str, value: Any, operation: str = "add") -> AdmissionAnswer:
    return patching({"op": operation, "path": path, "value": value})


def _selector(**labels: str) -> Json:
    return {"matchLabels": labels}


def _expressions(*expressions: tuple[str, str, Sequence[str]]) -> Json:
    found = [{"key": key, "operator": operator} | ({"values": list(values)} if values else {}) for key, operator, values in expressions]
    return {"matchExpressions": found}


def _conditions(**conditions: Sequence[str]) -> list[Json]:
    return _hooks(
        **{
            name: {"matchConditions": [{"name": f"c{number}", "expression": one} for number, one in enumerate(expressions)]}
            for name, expressions in conditions.items()
        }
    )


MATCHING: Final[dict[str, Scenario]] = {
    "resources and subresources": Scenario(
        _both(
            "one",
            *_rules(
                all=rule("*", group=GROUP),
                deep=rule("*/*", group=GROUP),
                things=rule("things", group=GROUP),
                below=rule("things/*", group=GROUP),
                status=rule("things/status", group=GROUP),
                scale=rule("*/scale", group=GROUP),
                others=rule("others", "others/*", group=GROUP),
                groups=rule("things", group="other.example.com"),
                core=rule("things", group=""),
            ),
        ),
        EVERY,
    ),
    "operations and versions": Scenario(
        _both(
            "one",
            *_hooks(
                create={"rules": [rule("*/*", group=GROUP, operations=["CREATE"])]},
                update={"rules": [rule("*/*", group=GROUP, operations=["UPDATE"])]},
                delete={"rules": [rule("*/*", group=GROUP, operations=["DELETE"])]},
                connect={"rules": [rule("*/*", group=GROUP, operations=["CONNECT"])]},
                v1={"rules": [rule("things/*", "things", group=GROUP, versions=["v1"])], "matchPolicy": "Exact"},
                v2={"rules": [rule("things/*", "things", group=GROUP, versions=["v2"])], "matchPolicy": "Exact"},
                v3={"rules": [rule("things/*", "things", group=GROUP, versions=["v3"])]},
            ),
        ),
        (*EVERY, create(thing("x", "v2"), "?dryRun=All", THINGS_V2), Step("DELETE", f"{THINGS_V2}/a?dryRun=All")),
    ),
    "scopes": Scenario(
        _both(
            "one",
            *_hooks(
                cluster={"rules": [RULE | {"scope": "Cluster"}]},
                namespaced={"rules": [RULE | {"scope": "Namespaced"}]},
                every={"rules": [RULE | {"scope": "*"}]},
            ),
        ),
        (*EVERY, create(plain(), "?dryRun=All", PLAINS)),
    ),
    "equivalent versions": Scenario(
        _both(
            "one",
            *_hooks(
                first={"rules": [rule("things", "things/*", group=GROUP, versions=["v1"])]},
                second={"rules": [rule("things", "things/*", group=GROUP, versions=["v2"])], "matchPolicy": "Equivalent"},
                both={"rules": [rule("things", group=GROUP, versions=["v2", "v1"])]},
                listed={
                    "rules": [rule("things", group=GROUP, versions=["v2"]), rule("things", group=GROUP, versions=["v1"])],
                },
                scales={"rules": [rule("things/scale", group=GROUP, versions=["v2"])]},
            ),
        ),
        (
            *EVERY,
            create(thing("x", "v2", text="t"), "?dryRun=All", THINGS_V2),
            Step("PATCH", f"{THINGS_V2}/a?dryRun=All", {"spec": {"text": "touched"}}, MERGE),
            applied(f"{THINGS_V2}/x", thing("x", "v2", text="t"), "fieldManager=ann&dryRun=All"),
            Step("PUT", f"{THINGS_V2}/a/scale?dryRun=All", scale(metadata={"namespace": "default"}, spec={"replicas": 5})),
            Step("DELETE", f"{THINGS_V2}/a?dryRun=All"),
        ),
    ),
    "patches in other versions": Scenario(
        [
            mutating(
                "one",
                *_hooks(
                    first={"rules": [rule("things", group=GROUP, versions=["v2"])]},
                    second={"rules": [rule("things", group=GROUP, versions=["v1"])]},
                    third={"rules": [rule("things", group=GROUP, versions=["v2"])], "reinvocationPolicy": "IfNeeded"},
                ),
            ),
            validating("two", *_hooks(last={}, old={"rules": [rule("things", group=GROUP, versions=["v2"])]})),
        ],
        (
            *EVERY,
            create(thing("x", "v2"), "?dryRun=All", THINGS_V2),
            Step("PATCH", f"{THINGS_V2}/a?dryRun=All", {"spec": {"text": "touched"}}, MERGE),
            applied(f"{THINGS_V2}/x", thing("x", "v2", text="t"), "fieldManager=ann&dryRun=All"),
        ),
        {
            "first.example.com": patching({"op": "add", "path": "/spec/text", "value": "v2"}, {"op": "remove", "path": "/spec/chosen"}),
            "second.example.com": patching({"op": "add", "path": "/spec/maybe", "value": "v1"}, {"op": "remove", "path": "/spec/chosen"}),
        },
    ),
    "object selectors": Scenario(
        _both(
            "one",
            *_hooks(
                red={"objectSelector": _selector(colour="red")},
                blue={"objectSelector": _selector(colour="blue")},
                neither={"objectSelector": _expressions(("colour", "DoesNotExist", ()))},
                either={"objectSelector": _expressions(("colour", "In", ("red", "blue")))},
                others={"objectSelector": _expressions(("colour", "NotIn", ("red",)))},
                empty={"objectSelector": {}},
            ),
        ),
        (
            *EVERY,
            create(thing("x", metadata={"labels": {"colour": "red"}}), "?dryRun=All"),
            create(thing("x", metadata={"labels": {"colour": "blue"}}), "?dryRun=All"),
            Step("PATCH", A, {"metadata": {"labels": {"colour": "red"}}}, MERGE),
            TOUCH,
            STATUS,
            SCALE,
            DELETE,
            Step("DELETE", f"{THINGS}?dryRun=All"),
            Step("PATCH", A, {"metadata": {"labels": {"colour": "blue"}}}, MERGE),
            Step("PATCH", A, {"metadata": {"labels": {"colour": None}}}, MERGE),
        ),
    ),
    "namespace selectors": Scenario(
        _both(
            "one",
            *_hooks(
                named={"namespaceSelector": _selector(**{"kubernetes.io/metadata.name": "default"})},
                other={"namespaceSelector": _expressions(("kubernetes.io/metadata.name", "NotIn", ("default", "kube-system")))},
                labelled={"namespaceSelector": _selector(team="a")},
                unlabelled={"namespaceSelector": _expressions(("team", "DoesNotExist", ()))},
            ),
        ),
        (
            *EVERY,
            create(plain(), "?dryRun=All", PLAINS),
            create(thing("x"), "?dryRun=All", THINGS.replace("default", "team-a")),
            create(thing("x"), "?dryRun=All", THINGS.replace("default", "missing")),
        ),
    ),
    "order of configurations": Scenario(
        [
            mutating("b", *_hooks(z={}, y={})),
            mutating("a", *_hooks(x={})),
            mutating("a.b", *_hooks(w={}, v={})),
            validating("v", *_hooks(t={})),
        ],
        EVERY,
        {
            name: patching({"op": "add", "path": "/metadata/annotations", "value": {"by": name}})
            for name in ("z.example.com", "x.example.com", "v.example.com")
        },
    ),
    "the first denial ends": Scenario(
        [mutating("a", *_hooks(a={}, b={}, c={})), validating("v", *_hooks(t={}))],
        EVERY,
        {"b.example.com": denying("no", code=418)},
    ),
    "denial after warnings": Scenario(
        [mutating("a", *_hooks(a={})), validating("v", *_hooks(t={}))],
        EVERY,
        {"a.example.com": answering(warnings=["from a"]), "t.example.com": answering(allowed=False, warnings=["from t"])},
    ),
    "a user": Scenario(
        _both(
            "one", *_hooks(a={}, beta={"admissionReviewVersions": ["v1beta1"]}, many={"admissionReviewVersions": ["v9", "v1beta1", "v1"]})
        ),
        [Step(step.method, step.path, step.body, {**step.headers, **ANN}) for step in EVERY],
    ),
    "a field manager": Scenario(
        [mutating("one", *_hooks(a={})), validating("two", *_hooks(t={}))],
        (
            create(thing("x"), "?dryRun=All&fieldManager=m"),
            Step("PATCH", f"{A}?dryRun=All&fieldManager=m", {"spec": {"text": "u"}}, MERGE),
            applied(A, thing(text="u"), "fieldManager=m&dryRun=All"),
            applied(A, thing(map={"a": "x"}), "fieldManager=m&dryRun=All"),
            applied(A, thing(map={"b": "x"}), "fieldManager=m&dryRun=All&force=true"),
            applied(f"{THINGS}/x", thing("x", map={"a": "x"}), "fieldManager=m&dryRun=All"),
            applied(f"{A}/status", thing() | {"status": {"phase": "x"}}, "fieldManager=m&dryRun=All"),
            STATUS,
        ),
        {"a.example.com": _add("/spec/map", {"a": "hook"})},
    ),
}

REINVOCATION: Final[dict[str, Scenario]] = {
    name: Scenario(
        [
            mutating("r", *_hooks(**{key: {"reinvocationPolicy": policy} for key, policy in policies.items()})),
            validating("v", *_hooks(v={})),
        ],
        (CREATE, TOUCH, STATUS, SCALE, DELETE, applied(f"{THINGS}/x", thing("x", text="t"), "fieldManager=ann&dryRun=All")),
        {f"{key}.example.com": answer for key, answer in answers.items()},
    )
    for name, policies, answers in (
        ("nothing changes", {"a": "IfNeeded", "b": "IfNeeded"}, {}),
        ("the first changes", {"a": "IfNeeded", "b": "IfNeeded"}, {"a": _add("/metadata/labels", {"a": "x"})}),
        ("the last changes", {"a": "IfNeeded", "b": "IfNeeded"}, {"b": _add("/metadata/labels", {"a": "x"})}),
        (
            "both fight",
            {"a": "IfNeeded", "b": "IfNeeded"},
            {"a": _add("/metadata/labels", {"a": "x"}), "b": _add("/metadata/labels", {"a": "y"})},
        ),
        ("never", {"a": "Never", "b": "Never"}, {"a": _add("/metadata/labels", {"a": "x"}), "b": _add("/metadata/labels", {"a": "y"})}),
        (
            "one of three",
            {"a": "IfNeeded", "b": "Never", "c": "IfNeeded"},
            {"b": _add("/metadata/labels", {"a": "x"}), "c": _add("/metadata/labels", {"a": "y"})},
        ),
        ("a patch without effect", {"a": "IfNeeded", "b": "IfNeeded"}, {"b": _add("/kind", "Thing", "replace")}),
        ("defaults come back", {"a": "IfNeeded", "b": "IfNeeded"}, {"b": patching({"op": "remove", "path": "/spec/chosen"})}),
    )
}

CONDITIONS: Final = Scenario(
    _both(
        "one",
        *_conditions(
            truth=["true"],
            lie=["false"],
            several=["true", "object != null", "request.operation == 'CREATE'"],
            lies=["true", "false", "object.none == 1"],
            old=["oldObject == null"],
            names=["object != null && object.metadata.name == 'a'"],
            none=["object == null"],
            user=["request.userInfo.username.endsWith('admin')", "'system:masters' in request.userInfo.groups"],
            resource=["request.resource.resource == 'things' && request.subResource == ''"],
            dry=["request.dryRun"],
            options=["has(request.options.fieldManager) || request.options.kind == 'DeleteOptions'"],
            kind=["request.kind.kind in ['Thing', 'Scale'] && request.requestKind.version == 'v1'"],
            permitted=["authorizer.group('admission.example.com').resource('things').namespace('default').check('get').allowed()"],
            refused=["authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get').allowed()"],
            own=["authorizer.requestResource.check('custom').allowed()"],
            spec=["has(object.spec) && has(object.spec.replicas) && object.spec.replicas > 3"],
            both=["true", "request.name != 'x' || request.namespace == 'default'"],
        ),
    ),
    EVERY,
)
BROKEN_CONDITIONS: Final = {
    "missing field": ["object.none == 1"],
    "missing and true": ["true", "object.none == 1", "object.other.none == 1"],
    "division": ["1 / int(size(object.metadata.name) - 1) == 1"],
    "index": ["[1, 2][size(object.metadata.name) + 7] == 1"],
    "conversion": ["int(object.metadata.name) == 1"],
    "dynamic type": ["object.spec == 'x' || object.spec.text"],
    "cost": ["'x'.matches('x') && [1,2,3].all(a, [1,2,3].all(b, [1,2,3].all(c, authorizer.path('/a').check('get').allowed())))"],
    "per call": [" && ".join(["authorizer.group('').resource('pods').namespace('default').check('create').allowed()"] * 3)],
    "budget": [" && ".join(["authorizer.group('').resource('pods').name('test1').check('create').allowed()"] * 2)] * 8,
    "after false": ["object.none == 1", "false"],
}
"""Match conditions that fail."""


def broken_conditions(policy: str, name: str) -> Scenario:
    """Return a scenario with match conditions that fail."""
    conditions = [{"name": f"c{number}", "expression": one} for number, one in enumerate(BROKEN_CONDITIONS[name])]
    return Scenario(_both("one", *_hooks(a={"matchConditions": conditions, "failurePolicy": policy}, b={})), (CREATE,))
