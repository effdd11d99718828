"""flowcontrol.apiserver.k8s.io/v1 FlowSchemas and PriorityLevelConfigurations, which are read-only here (k8s.io/api/flowcontrol/v1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.builtin_resources import FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS
from apiext.meta.golang.time_types import Time
from apiext.meta.golang.type_model import Bool, Field, GoType, Int, Pointer, Slice, String, Struct
from apiext.meta.objectmeta.canonical import OBJECT_META
from apiext.registry.builtin.codec import TypedCodec
from apiext.registry.protobuf.kinds import Message, Scalar
from apiext.registry.protobuf.objectmeta import METADATA
from apiext.registry.rest import ResourceRest
from apiext.registry.strategy import Strategy

if TYPE_CHECKING:
    from apiext.meta.builtin_resources import BuiltinResource
    from apiext.storage.interface import Store

# --- Go types -------------------------------------------------------------------------------------------------------


def _required(name: str, kind: GoType) -> Field:
    return Field(name, kind, omit_empty=False)


def _named(name: str, *more: Field) -> Struct:
    return Struct(name).define(*more, _required("name", String()))


_TEXTS: Final = Slice(String())
_CONDITION: Final = Struct("Condition").define(
    Field("type", String()),
    Field("status", String()),
    _required("lastTransitionTime", Time()),
    Field("reason", String()),
    Field("message", String()),
)
_SUBJECT: Final = Struct("Subject").define(
    _required("kind", String()),
    Field("user", Pointer(_named("UserSubject"))),
    Field("group", Pointer(_named("GroupSubject"))),
    Field("serviceAccount", Pointer(_named("ServiceAccountSubject", _required("namespace", String())))),
)
_RESOURCE_RULE: Final = Struct("ResourcePolicyRule").define(
    _required("verbs", _TEXTS),
    _required("apiGroups", _TEXTS),
    _required("resources", _TEXTS),
    Field("clusterScope", Bool()),
    _required("namespaces", _TEXTS),
)
_PATH_RULE: Final = Struct("NonResourcePolicyRule").define(_required("verbs", _TEXTS), _required("nonResourceURLs", _TEXTS))
_RULE: Final = Struct("PolicyRulesWithSubjects").define(
    _required("subjects", Slice(_SUBJECT)),
    Field("resourceRules", Slice(_RESOURCE_RULE)),
    Field("nonResourceRules", Slice(_PATH_RULE)),
)


def _kind(name: str, *spec: Field) -> Struct:
    status = Struct(f"{name}Status").define(Field("conditions", Slice(_CONDITION)))
    return Struct(name).define(
        Field("kind", String(), embedded=("TypeMeta",)),
        Field("apiVersion", String(), embedded=("TypeMeta",)),
        _required("metadata", OBJECT_META),
        _required("spec", Struct(f"{name}Spec").define(*spec)),
        _required("status", status),
    )


FLOW_SCHEMA: Final = _kind(
    "FlowSchema",
    _required("priorityLevelConfiguration", _named("PriorityLevelConfigurationReference")),
    _required("matchingPrecedence", Int(32)),
    Field("distinguisherMethod", Pointer(Struct("FlowDistinguisherMethod").define(_required("type", String())))),
    Field("rules", Slice(_RULE)),
)
_QUEUING: Final = Struct("QueuingConfiguration").define(
    *(_required(name, Int(32)) for name in ("queues", "handSize", "queueLengthLimit")),
)
_NUMBER: Final = Pointer(Int(32))
PRIORITY_LEVEL: Final = _kind(
    "PriorityLevelConfiguration",
    _required("type", String()),
    Field(
        "limited",
        Pointer(
            Struct("LimitedPriorityLevelConfiguration").define(
                _required("nominalConcurrencyShares", _NUMBER),
                _required(
                    "limitResponse", Struct("LimitResponse").define(_required("type", String()), Field("queuing", Pointer(_QUEUING)))
                ),
                Field("lendablePercent", _NUMBER),
                Field("borrowingLimitPercent", _NUMBER),
            )
        ),
    ),
    Field(
        "exempt",
        Pointer(
            Struct("ExemptPriorityLevelConfiguration").define(Field("nominalConcurrencyShares", _NUMBER), Field("lendablePercent", _NUMBER))
        ),
    ),
)

# --- Protobuf -------------------------------------------------------------------------------------------------------

_NAME_WIRE: Final = Message({1: ("name", Scalar.TEXT)})
_CONDITION_WIRE: Final = Message(
    {
        1: ("type", Scalar.TEXT),
        2: ("status", Scalar.TEXT),
        3: ("lastTransitionTime", Scalar.TIME),
        4: ("reason", Scalar.TEXT),
        5: ("message", Scalar.TEXT),
    }
)
_SUBJECT_WIRE: Final = Message(
    {
        1: ("kind", Scalar.TEXT),
        2: ("user", _NAME_WIRE),
        3: ("group", _NAME_WIRE),
        4: ("serviceAccount", Message({1: ("namespace", Scalar.TEXT), 2: ("name", Scalar.TEXT)})),
    },
    optional={"user", "group", "serviceAccount"},
)
_RESOURCE_RULE_WIRE: Final = Message(
    {
        1: ("verbs", Scalar.TEXT),
        2: ("apiGroups", Scalar.TEXT),
        3: ("resources", Scalar.TEXT),
        4: ("clusterScope", Scalar.BOOL),
        5: ("namespaces", Scalar.TEXT),
    },
    repeated={"verbs", "apiGroups", "resources", "namespaces"},
)
_PATH_RULE_WIRE: Final = Message({1: ("verbs", Scalar.TEXT), 6: ("nonResourceURLs", Scalar.TEXT)}, repeated={"verbs", "nonResourceURLs"})
_RULE_WIRE: Final = Message(
    {1: ("subjects", _SUBJECT_WIRE), 2: ("resourceRules", _RESOURCE_RULE_WIRE), 3: ("nonResourceRules", _PATH_RULE_WIRE)},
    repeated={"subjects", "resourceRules", "nonResourceRules"},
)


def _kind_wire(spec: Message) -> Message:
    return Message(
        {1: ("metadata", METADATA), 2: ("spec", spec), 3: ("status", Message({1: ("conditions", _CONDITION_WIRE)}, {"conditions"}))}
    )


FLOW_SCHEMA_WIRE: Final = _kind_wire(
    Message(
        {
            1: ("priorityLevelConfiguration", _NAME_WIRE),
            2: ("matchingPrecedence", Scalar.INT),
            3: ("distinguisherMethod", Message({1: ("type", Scalar.TEXT)})),
            4: ("rules", _RULE_WIRE),
        },
        repeated={"rules"},
        optional={"distinguisherMethod"},
    )
)
_QUEUING_WIRE: Final = Message({1: ("queues", Scalar.INT), 2: ("handSize", Scalar.INT), 3: ("queueLengthLimit", Scalar.INT)})
_LIMITED_WIRE: Final = Message(
    {
        1: ("nominalConcurrencyShares", Scalar.INT),
        2: ("limitResponse", Message({1: ("type", Scalar.TEXT), 2: ("queuing", _QUEUING_WIRE)}, optional={"queuing"})),
        3: ("lendablePercent", Scalar.INT),
        4: ("borrowingLimitPercent", Scalar.INT),
    },
    optional={"nominalConcurrencyShares", "lendablePercent", "borrowingLimitPercent"},
)
_EXEMPT_WIRE: Final = Message(
    {1: ("nominalConcurrencyShares", Scalar.INT), 2: ("lendablePercent", Scalar.INT)},
    optional={"nominalConcurrencyShares", "lendablePercent"},
)
PRIORITY_LEVEL_WIRE: Final = _kind_wire(
    Message({1: ("type", Scalar.TEXT), 2: ("limited", _LIMITED_WIRE), 3: ("exempt", _EXEMPT_WIRE)}, optional={"limited", "exempt"})
)

# --- REST -----------------------------------------------------------------------------------------------------------


def flow_schema_rest(store: Store) -> ResourceRest:
    """Return the verbs of FlowSchemas."""
    return _rest(FLOW_SCHEMAS, FLOW_SCHEMA, FLOW_SCHEMA_WIRE, store)


def priority_level_rest(store: Store) -> ResourceRest:
    """Return the verbs of PriorityLevelConfigurations."""
    return _rest(PRIORITY_LEVEL_CONFIGURATIONS, PRIORITY_LEVEL, PRIORITY_LEVEL_WIRE, store)


def _rest(resource: BuiltinResource, struct: Struct, message: Message, store: Store) -> ResourceRest:
    return ResourceRest(
        store=store,
        codec=TypedCodec(gvk=resource.kind, struct=struct, message=message),
        strategy=Strategy(),
        resource=resource.resource.group_resource,
        namespaced=False,
    )
