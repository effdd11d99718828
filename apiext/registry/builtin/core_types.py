"""core/v1 Namespace and Event as their Go structs define them, in JSON and protobuf (k8s.io/api core/v1).

Fields are in the order of the structs, which is the order of the encoded JSON.
"""

from __future__ import annotations

from typing import Final

from apiext.meta.golang.time_types import MicroTime, Time
from apiext.meta.golang.type_model import Field, Int, Pointer, Slice, String, Struct
from apiext.meta.objectmeta.canonical import OBJECT_META
from apiext.registry.protobuf.kinds import Message, Scalar
from apiext.registry.protobuf.objectmeta import METADATA

_TEXT: Final = String()
_INT32: Final = Int(32)
_TIME: Final = Time()
_MICRO_TIME: Final = MicroTime()
_TYPE_META: Final = (
    Field("kind", _TEXT, embedded=("TypeMeta",)),
    Field("apiVersion", _TEXT, embedded=("TypeMeta",)),
)

_CONDITION: Final = Struct("NamespaceCondition").define(
    Field("type", String("v1.NamespaceConditionType"), omit_empty=False),
    Field("status", String("v1.ConditionStatus"), omit_empty=False),
    Field("lastTransitionTime", _TIME, omit_empty=False),
    Field("reason", _TEXT),
    Field("message", _TEXT),
)

NAMESPACE: Final = Struct("Namespace").define(
    *_TYPE_META,
    Field("metadata", OBJECT_META, omit_empty=False),
    Field(
        "spec",
        Struct("NamespaceSpec").define(Field("finalizers", Slice(String("v1.FinalizerName")))),
        omit_empty=False,
    ),
    Field(
        "status",
        Struct("NamespaceStatus").define(Field("phase", String("v1.NamespacePhase")), Field("conditions", Slice(_CONDITION))),
        omit_empty=False,
    ),
)

_REFERENCE: Final = Struct("ObjectReference").define(
    Field("kind", _TEXT),
    Field("namespace", _TEXT),
    Field("name", _TEXT),
    Field("uid", String("types.UID")),
    Field("apiVersion", _TEXT),
    Field("resourceVersion", _TEXT),
    Field("fieldPath", _TEXT),
)

EVENT: Final = Struct("Event").define(
    *_TYPE_META,
    Field("metadata", OBJECT_META, omit_empty=False),
    Field("involvedObject", _REFERENCE, omit_empty=False),
    Field("reason", _TEXT),
    Field("message", _TEXT),
    Field(
        "source",
        Struct("EventSource").define(Field("component", _TEXT), Field("host", _TEXT)),
        omit_empty=False,
    ),
    Field("firstTimestamp", _TIME, omit_empty=False),
    Field("lastTimestamp", _TIME, omit_empty=False),
    Field("count", _INT32),
    Field("type", _TEXT),
    Field("eventTime", _MICRO_TIME, omit_empty=False),
    Field(
        "series",
        Pointer(Struct("EventSeries").define(Field("count", _INT32), Field("lastObservedTime", _MICRO_TIME, omit_empty=False))),
    ),
    Field("action", _TEXT),
    Field("related", Pointer(_REFERENCE)),
    Field("reportingComponent", _TEXT, omit_empty=False),
    Field("reportingInstance", _TEXT, omit_empty=False),
)

_CONDITION_WIRE: Final = Message(
    {
        1: ("type", Scalar.TEXT),
        2: ("status", Scalar.TEXT),
        4: ("lastTransitionTime", Scalar.TIME),
        5: ("reason", Scalar.TEXT),
        6: ("message", Scalar.TEXT),
    }
)

NAMESPACE_WIRE: Final = Message(
    {
        1: ("metadata", METADATA),
        2: ("spec", Message({1: ("finalizers", Scalar.TEXT)}, repeated={"finalizers"})),
        3: (
            "status",
            Message({1: ("phase", Scalar.TEXT), 2: ("conditions", _CONDITION_WIRE)}, repeated={"conditions"}),
        ),
    }
)

_REFERENCE_WIRE: Final = Message(
    {
        number: (name, Scalar.TEXT)
        for number, name in enumerate(("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"), start=1)
    }
)

EVENT_WIRE: Final = Message(
    {
        1: ("metadata", METADATA),
        2: ("involvedObject", _REFERENCE_WIRE),
        3: ("reason", Scalar.TEXT),
        4: ("message", Scalar.TEXT),
        5: ("source", Message({1: ("component", Scalar.TEXT), 2: ("host", Scalar.TEXT)})),
        6: ("firstTimestamp", Scalar.TIME),
        7: ("lastTimestamp", Scalar.TIME),
        8: ("count", Scalar.INT),
        9: ("type", Scalar.TEXT),
        10: ("eventTime", Scalar.MICRO_TIME),
        11: ("series", Message({1: ("count", Scalar.INT), 2: ("lastObservedTime", Scalar.MICRO_TIME)})),
        12: ("action", Scalar.TEXT),
        13: ("related", _REFERENCE_WIRE),
        14: ("reportingComponent", Scalar.TEXT),
        15: ("reportingInstance", Scalar.TEXT),
    },
    optional={"series", "related"},
)
