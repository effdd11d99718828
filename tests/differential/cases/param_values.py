"""Expressions about values of every type in parameters: custom resources, and kinds for which the reference has Go types."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.differential.cases.admission_objects import GROUP, THINGS, Json
from tests.differential.cases.policy_cases import policy
from tests.differential.cases.policy_expressions import subject

_CORE: Final = "/api/v1/namespaces/default"
_RBAC: Final = "rbac.authorization.k8s.io"
_REGISTRATION: Final = "admissionregistration.k8s.io"
CONFIG_MAPS: Final = f"{_CORE}/configmaps"
THING: Final = {"apiVersion": f"{GROUP}/v1", "kind": "Thing"}
_BATCH: Final = 12
"""Expressions of a policy: their warnings together stay below the size at which servers cut them."""


def named(obj: Json, name: str, **labels: str) -> Json:
    """Return the object with another name and labels."""
    return obj | {"metadata": obj["metadata"] | {"name": name, "labels": labels}}


TYPED: Final = named(subject(), "typed", of="types")
"""A custom resource with a value of every type."""

FIELDS: Final = (
    *("replicas", "text", "texts", "plain", "named", "map", "deep", "free", "many", "number", "flag", "when", "maybe", "chosen", "none"),
    *("free.a.b", "free.big", "deep.a"),
)
"""Fields of the parameter's spec; `none` is absent."""

TEMPLATES: Final = (
    "{} == 4",
    "{} == 'a'",
    "{} > 3",
    "{} + {} == 7",
    "size({}) == 9",
    "string({}) == ''",
    "type({}) == bytes",
    "'z' in {}",
    "{}[0] == 'z'",
    "{}.all(x, x == 'z')",
    "!{}",
    "{} == oldObject",
)
"""What expressions do with a field; most fail, or do not suit the type."""

KINDS: Final[Mapping[str, tuple[str, Json]]] = {
    "config-map": (
        CONFIG_MAPS,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "data": {"a": "1", "b": "", "c": "[1, 2]"},
            "binaryData": {"raw": "aGVsbG8="},
            "immutable": True,
        },
    ),
    "secret": (
        f"{_CORE}/secrets",
        {"apiVersion": "v1", "kind": "Secret", "type": "example.com/x", "stringData": {"a": "text"}, "data": {"raw": "aGVsbG8="}},
    ),
    "service-account": (
        f"{_CORE}/serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": False, "imagePullSecrets": [{"name": "a"}]},
    ),
    "namespace": ("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace"}),
    "lease": (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 30, "renewTime": "2020-01-01T00:00:00.000000Z", "leaseTransitions": 0},
        },
    ),
    "role": (
        f"/apis/{_RBAC}/v1/namespaces/default/roles",
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    ),
    "cluster-role": (
        f"/apis/{_RBAC}/v1/clusterroles",
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
    ),
    "webhooks": (
        f"/apis/{_REGISTRATION}/v1/validatingwebhookconfigurations",
        {"apiVersion": f"{_REGISTRATION}/v1", "kind": "ValidatingWebhookConfiguration"},
    ),
    "thing": (THINGS, TYPED),
    "definition": (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"},
    ),
}
"""Collections of kinds, and a parameter of each kind. That of the definitions is there already."""
_PARAMETER_NAMES: Final = {"definition": f"things.{GROUP}"}

COMMON: Final = (
    "has(params.apiVersion) ? params.apiVersion : 'untyped'",
    "has(params.kind) ? params.kind : 'untyped'",
    "params.size()",
    "params.metadata.name + ' ' + params.metadata.?namespace.orValue('none')",
    "params.metadata.size()",
    "params.metadata.?labels.of.orValue('none') + string(has(params.metadata.annotations))",
    "string(has(params.metadata.generation) ? params.metadata.generation : 0)",
    "string(timestamp(params.metadata.creationTimestamp) > timestamp('2020-01-01T00:00:00Z'))",
    "string(has(params.metadata.managedFields)) + string(has(params.metadata.uid)) + string(has(params.metadata.resourceVersion))",
    "string(has(params.status)) + string(has(params.spec)) + string(has(params.data))",
    "type(params) == map && type(params.metadata.name) == string",
)
"""Texts about a parameter of any kind."""

OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "config-map": (
        "params.data.a + params.data.b + params.binaryData.raw",
        "string(params.immutable) + string(params.data == {'a': '1', 'b': '', 'c': '[1, 2]'})",
        "string(params.binaryData.raw == b'hello')",
        "params.data.c[0]",
    ),
    "secret": (
        "params.type + params.data.a + params.data.raw",
        "string(has(params.stringData)) + string(has(params.immutable))",
        "string(params.data.raw == b'hello')",
        "params.data.a.size() + params.type.size()",
    ),
    "service-account": (
        "string(params.automountServiceAccountToken) + params.imagePullSecrets.map(s, s.name).join(',')",
        "string(has(params.secrets))",
    ),
    "namespace": (
        "params.spec.finalizers.join(',') + params.status.phase",
        "params.metadata.labels['kubernetes.io/metadata.name']",
        "string(has(params.status.conditions))",
    ),
    "lease": (
        "params.spec.holderIdentity + string(params.spec.leaseDurationSeconds + 1) + string(params.spec.leaseTransitions)",
        "params.spec.renewTime + string(timestamp(params.spec.renewTime).getFullYear())",
        "string(has(params.spec.acquireTime)) + string(has(params.spec.strategy))",
    ),
    "role": (
        "params.rules.map(r, r.verbs.join('+') + r.resources.join('+')).join(',')",
        "string(params.rules[0].apiGroups == ['']) + string(has(params.rules[0].resourceNames))",
    ),
    "cluster-role": (
        "params.rules[0].nonResourceURLs.join(',')",
        "string(has(params.aggregationRule)) + string(has(params.rules[0].resources))",
    ),
    "webhooks": ("string(has(params.webhooks))",),
    "thing": (
        "params.spec.texts.join(',') + string(params.spec.deep.a) + params.spec.chosen",
        "string(params.spec == object.spec) + string(params.spec.named == object.spec.named)",
        "string(params.spec.maybe == null) + string(has(params.spec.maybe))",
    ),
    "definition": (
        "params.spec.versions.map(v, v.name).join(',') + params.spec.names.plural",
        "params.status.storedVersions.join(',') + string(params.status.conditions.map(c, c.type).size())",
        "params.status.acceptedNames.kind + string(params.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size())",
        "params.spec.conversion.strategy + string(params.spec.preserveUnknownFields)",
    ),
}
"""Texts about the parameters of the kinds."""


def parameters() -> Iterator[tuple[str, Json]]:
    """Yield the parameters with the paths of their collections."""
    for kind, (path, obj) in KINDS.items():
        if kind not in _PARAMETER_NAMES:
            yield path, named({"metadata": {}} | obj, "typed", of="types")


def values() -> dict[str, list[Json]]:
    """Return policies that warn, with bindings, by the label of the Things that meet them."""
    made: dict[str, list[Json]] = {}
    for field in FIELDS:
        path = f"params.spec.{field}"
        made |= _warning(f"type-{field.replace('.', '-')}", THING, "thing", [one.replace("{}", path) for one in TEMPLATES])
    for kind, (_, obj) in KINDS.items():
        texts = [{"expression": "false", "messageExpression": f"string(dyn({text}))"} for text in (*COMMON, *OWN[kind])]
        made |= _warning(f"kind-{kind}", {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}, kind, texts)
    return made


def _warning(case: str, param_kind: Json, kind: str, validations: Sequence[str | Json]) -> dict[str, list[Json]]:
    reference = {"name": _PARAMETER_NAMES.get(kind, "typed"), "parameterNotFoundAction": "Deny"}
    made: dict[str, list[Json]] = {}
    for start in range(0, len(validations), _BATCH):
        name = f"{case}-{start}"
        made[name] = policy(name, *validations[start : start + _BATCH], paramKind=param_kind, param_ref=reference, actions=["Warn"])
    return made
