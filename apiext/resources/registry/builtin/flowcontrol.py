"""flowcontrol.apiserver.k8s.io/v1 FlowSchemas and PriorityLevelConfigurations, which are read-only here (k8s.io/api/flowcontrol/v1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from apiext.base.meta.golang.struct_type import Struct

_CONDITION: Final = struct("Condition", "1 type, 2 status, 3 lastTransitionTime! Time, 4 reason, 5 message")
_SUBJECT: Final = struct(
    "Subject",
    "1 kind!, 2 user *UserSubject, 3 group *GroupSubject, 4 serviceAccount *ServiceAccountSubject",
    struct("UserSubject", "1 name!"),
    struct("GroupSubject", "1 name!"),
    struct("ServiceAccountSubject", "1 namespace!, 2 name!"),
)
_RULE: Final = struct(
    "PolicyRulesWithSubjects",
    "1 subjects! []Subject, 2 resourceRules []ResourcePolicyRule, 3 nonResourceRules []NonResourcePolicyRule",
    _SUBJECT,
    struct(
        "ResourcePolicyRule",
        "1 verbs! []string, 2 apiGroups! []string, 3 resources! []string, 4 clusterScope bool, 5 namespaces! []string",
    ),
    struct("NonResourcePolicyRule", "1 verbs! []string, 6 nonResourceURLs! []string"),
)
_LIMITED: Final = struct(
    "LimitedPriorityLevelConfiguration",
    "1 nominalConcurrencyShares! *int32, 2 limitResponse! LimitResponse, 3 lendablePercent *int32, 4 borrowingLimitPercent *int32",
    struct(
        "LimitResponse",
        "1 type!, 2 queuing *QueuingConfiguration",
        struct("QueuingConfiguration", "1 queues! int32, 2 handSize! int32, 3 queueLengthLimit! int32"),
    ),
)


def _kind(name: str, spec: str, *types: Struct) -> Struct:
    return struct(
        name,
        f"TypeMeta, 1 metadata! ObjectMeta, 2 spec! {name}Spec, 3 status! {name}Status",
        OBJECT_META,
        struct(f"{name}Spec", spec, *types),
        struct(f"{name}Status", "1 conditions []Condition", _CONDITION),
    )


FLOW_SCHEMA: Final = _kind(
    "FlowSchema",
    "1 priorityLevelConfiguration! PriorityLevelConfigurationReference, 2 matchingPrecedence! int32,"
    "3 distinguisherMethod *FlowDistinguisherMethod, 4 rules []PolicyRulesWithSubjects",
    struct("PriorityLevelConfigurationReference", "1 name!"),
    struct("FlowDistinguisherMethod", "1 type!"),
    _RULE,
)
PRIORITY_LEVEL: Final = _kind(
    "PriorityLevelConfiguration",
    "1 type!, 2 limited *LimitedPriorityLevelConfiguration, 3 exempt *ExemptPriorityLevelConfiguration",
    _LIMITED,
    struct("ExemptPriorityLevelConfiguration", "1 nominalConcurrencyShares *int32, 2 lendablePercent *int32"),
)

FLOW_SCHEMA_KIND: Final = BuiltinKind(resource=FLOW_SCHEMAS, struct=FLOW_SCHEMA, strategy=Strategy())
PRIORITY_LEVEL_KIND: Final = BuiltinKind(resource=PRIORITY_LEVEL_CONFIGURATIONS, struct=PRIORITY_LEVEL, strategy=Strategy())
