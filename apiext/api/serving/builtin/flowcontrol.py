"""flowcontrol.apiserver.k8s.io/v1 FlowSchemas and PriorityLevelConfigurations, which are read-only here."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from apiext.api.endpoints.responsewriters.table import NAME, Cell, TableConvertor
from apiext.api.serving.builtin.printing import AGE, at, text
from apiext.api.serving.builtin.served_kind import ServedKind, ServedSubresource
from apiext.base.meta import builtin_resources as resources
from apiext.base.meta.builtin_resources import BuiltinResource
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.strategy import Strategy


def _distinguisher(obj: Object, _now: datetime) -> str:
    method = obj["spec"].get("distinguisherMethod")
    return "<none>" if method is None else str(method["type"])


def _dangling(obj: Object, _now: datetime) -> str:
    conditions = obj["status"].get("conditions") or ()
    return next((str(condition["status"]) for condition in conditions if condition["type"] == "Dangling"), "?")


def _limit(*path: str) -> Cell:
    """Return a cell function that prints a member of a limited priority level."""
    cell = at("spec", "limited", *path)

    def limit(obj: Object, now: datetime) -> Any:
        found = cell(obj, now)
        return "<none>" if found == "" else found

    return limit


_LEVEL_NAME: Final = "`name` is the name of the priority level configuration being referenced Required."
_PRECEDENCE: Final = (
    "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those "
    "with the numerically lowest (which we take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must be "
    "ranged in [1,10000]. Note that if the precedence is not specified, it will be set to 1000 as default."
)
_DISTINGUISHER: Final = (
    "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that "
    "the distinguisher is disabled and thus will always be the empty string."
)
_LEVEL_TYPE: Final = (
    '`type` indicates whether this priority level is subject to limitation on request execution.  A value of `"Exempt"` means that '
    "requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity "
    'made available to other priority levels.  A value of `"Limited"` means that (a) requests of this priority level _are_ subject '
    "to limits and (b) some of the server's limited capacity is made available exclusively to this priority level. Required."
)
_SHARES: Final = (
    "`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This "
    "is the number of execution seats available at this priority level. This is used both for requests dispatched from this priority "
    "level as well as requests dispatched from other priority levels borrowing seats from this level. The server's concurrency limit "
    "(ServerCL) is divided among the Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL * "
    "NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal concurrency limit, at the "
    "expense of every other priority level.\n\nIf not specified, this field defaults to a value of 30.\n\nSetting this field to zero "
    'supports the construction of a "jail" for this priority level that is used to hold some request(s)'
)
_QUEUES: Final = (
    "`queues` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be "
    "positive.  Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow "
    "schemas irrelevant.  This field has a default value of 64."
)
_HAND_SIZE: Final = (
    "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.  When enqueuing a request "
    "at this priority level the request's flow identifier (a string pair) is hashed and the hash value is used to shuffle the list "
    "of queues and deal a hand of the size specified here.  The request is put into one of the shortest queues in that hand. "
    "`handSize` must be no larger than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most "
    "of the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This field has a default "
    "value of 8."
)
_QUEUE_LENGTH: Final = (
    "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; "
    "excess requests are rejected.  This value must be positive.  If not specified, it will be defaulted to 50."
)

_FLOW_SCHEMA_COLUMNS: Final = (
    NAME,
    text("PriorityLevel", _LEVEL_NAME, at("spec", "priorityLevelConfiguration", "name")),
    text("MatchingPrecedence", _PRECEDENCE, at("spec", "matchingPrecedence")),
    text("DistinguisherMethod", _DISTINGUISHER, _distinguisher),
    AGE,
    text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", _dangling),
)


def _flow_schema_order(obj: Object) -> tuple[int, str]:
    """Return the sort key of FlowSchemas in a table: the order in which requests match them."""
    return obj["spec"]["matchingPrecedence"], obj["metadata"]["name"]


_QUEUING: Final = ("limitResponse", "queuing")
_PRIORITY_LEVEL_COLUMNS: Final = (
    NAME,
    text("Type", _LEVEL_TYPE, at("spec", "type")),
    text("NominalConcurrencyShares", _SHARES, _limit("nominalConcurrencyShares")),
    text("Queues", _QUEUES, _limit(*_QUEUING, "queues")),
    text("HandSize", _HAND_SIZE, _limit(*_QUEUING, "handSize")),
    text("QueueLengthLimit", _QUEUE_LENGTH, _limit(*_QUEUING, "queueLengthLimit")),
    AGE,
)

_SUBRESOURCES: Final = {"status": ServedSubresource(reset=None)}


def _served(resource: BuiltinResource, table: TableConvertor) -> ServedKind:
    kind = BuiltinKind(resource=resource, struct=struct_of(resource.kind), strategy=Strategy())
    return ServedKind(kind=kind, table=table, subresources=_SUBRESOURCES)


FLOW_SCHEMAS: Final = _served(resources.FLOW_SCHEMAS, TableConvertor(_FLOW_SCHEMA_COLUMNS, order=_flow_schema_order))
PRIORITY_LEVEL_CONFIGURATIONS: Final = _served(resources.PRIORITY_LEVEL_CONFIGURATIONS, TableConvertor(_PRIORITY_LEVEL_COLUMNS))
