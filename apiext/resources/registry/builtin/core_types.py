"""core/v1 Namespace and Event as their Go structs define them, in JSON and protobuf (k8s.io/api core/v1).

Fields are in the order of the structs, which is the order of the encoded JSON.
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.objectmeta.canonical import OBJECT_META

_CONDITION: Final = struct(
    "NamespaceCondition",
    "1 type! v1.NamespaceConditionType, 2 status! v1.ConditionStatus, 4 lastTransitionTime! Time, 5 reason, 6 message",
)
NAMESPACE: Final = struct(
    "Namespace",
    "TypeMeta, 1 metadata! ObjectMeta, 2 spec! NamespaceSpec, 3 status! NamespaceStatus",
    OBJECT_META,
    struct("NamespaceSpec", "1 finalizers []v1.FinalizerName"),
    struct("NamespaceStatus", "1 phase v1.NamespacePhase, 2 conditions []NamespaceCondition", _CONDITION),
)
OBJECT_REFERENCE: Final = struct(
    "ObjectReference",
    "1 kind, 2 namespace, 3 name, 4 uid types.UID, 5 apiVersion, 6 resourceVersion, 7 fieldPath",
)
EVENT_SOURCE: Final = struct("EventSource", "1 component, 2 host")
EVENT: Final = struct(
    "Event",
    "TypeMeta, 1 metadata! ObjectMeta, 2 involvedObject! ObjectReference, 3 reason, 4 message, 5 source! EventSource,"
    "6 firstTimestamp! Time, 7 lastTimestamp! Time, 8 count int32, 9 type, 10 eventTime! MicroTime, 11 series *EventSeries,"
    "12 action, 13 related *ObjectReference, 14 reportingComponent!, 15 reportingInstance!",
    OBJECT_META,
    OBJECT_REFERENCE,
    EVENT_SOURCE,
    struct("EventSeries", "1 count int32, 2 lastObservedTime! MicroTime"),
)
