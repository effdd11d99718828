"""PriorityLevelConfigurations: the limit of running requests of a level, and the queues for others.

Mirrors k8s.io/api/flowcontrol/v1 and the defaults of kubernetes pkg/apis/flowcontrol/v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.configuration.members import InvalidFlowControlObjectError, child, number, text
from apiext.api.flowcontrol.shuffle_sharding import Dealer
from apiext.base.meta.limits import MAX_FLOW_QUEUES

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

EXEMPT: Final = "exempt"
"""Name of the mandatory priority level without limits, and of its FlowSchema."""
CATCH_ALL: Final = "catch-all"
"""Name of the mandatory priority level, and of its FlowSchema, for requests that no other FlowSchema matches."""

_DEFAULT_SHARES: Final = 30
_DEFAULT_QUEUES: Final = 64
_DEFAULT_HAND_SIZE: Final = 8
_DEFAULT_QUEUE_LENGTH: Final = 50


@dataclass(frozen=True, slots=True)
class QueuingConfiguration:
    """The queues of a priority level."""

    queues: int
    hand_size: int
    """Queues that a flow may use; shuffle sharding selects them."""
    queue_length_limit: int
    """Requests that may wait in one queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityLevel:
    """A usable PriorityLevelConfiguration."""

    name: str
    uid: str = ""
    is_exempt: bool = False
    """Whether requests of the level always run at once."""
    nominal_concurrency_shares: int = 0
    lendable_percent: int = 0
    borrowing_limit_percent: int | None = None
    """Seats that the level may borrow, in percent of its nominal ones; None means no limit."""
    queuing: QueuingConfiguration | None = None
    """With None, requests beyond the limit are rejected at once."""


def parse_priority_level(obj: Object) -> PriorityLevel:
    """Return a PriorityLevelConfiguration as data, with defaults.

    Raises:
        InvalidFlowControlObjectError: the object cannot be used.
    """
    metadata, spec = child(obj, "metadata") or {}, child(obj, "spec") or {}
    name, uid, kind = text(metadata, "name"), text(metadata, "uid"), text(spec, "type")
    limited, exempt = child(spec, "limited"), child(spec, "exempt")
    if (kind == "Limited") != (limited is not None) or (kind == "Exempt") != (exempt is not None):
        raise InvalidFlowControlObjectError("spec.type does not agree with the members of spec")
    if (kind == "Exempt") != (name == EXEMPT):
        raise InvalidFlowControlObjectError(f"only {EXEMPT!r} is an exempt priority level")
    if exempt is not None:
        shares = number(exempt, "nominalConcurrencyShares", 0)
        lendable = _percent(exempt, "lendablePercent")
        return PriorityLevel(name=name, uid=uid, is_exempt=True, nominal_concurrency_shares=shares, lendable_percent=lendable)
    if limited is None:
        raise InvalidFlowControlObjectError(f"spec.type {kind!r} is unknown")
    shares, borrowing = number(limited, "nominalConcurrencyShares", _DEFAULT_SHARES), number(limited, "borrowingLimitPercent", -1)
    if shares < 0 or borrowing < -1:
        raise InvalidFlowControlObjectError("shares and percentages must not be negative")
    return PriorityLevel(
        name=name,
        uid=uid,
        nominal_concurrency_shares=shares,
        lendable_percent=_percent(limited, "lendablePercent"),
        borrowing_limit_percent=None if borrowing < 0 else borrowing,
        queuing=_queuing(child(limited, "limitResponse") or {}),
    )


def _percent(obj: Object, key: str) -> int:
    percent = number(obj, key, 0)
    if not 0 <= percent <= 100:
        raise InvalidFlowControlObjectError(f"{key} must be between 0 and 100")
    return percent


def _queuing(response: Object) -> QueuingConfiguration | None:
    kind, queuing = text(response, "type"), child(response, "queuing")
    if kind not in {"Queue", "Reject"} or (kind == "Queue") != (queuing is not None):
        raise InvalidFlowControlObjectError("limitResponse.type does not agree with limitResponse.queuing")
    if queuing is None:
        return None
    queues, hand_size = number(queuing, "queues", 0) or _DEFAULT_QUEUES, number(queuing, "handSize", 0) or _DEFAULT_HAND_SIZE
    queue_length_limit = number(queuing, "queueLengthLimit", 0) or _DEFAULT_QUEUE_LENGTH
    if queue_length_limit < 0:
        raise InvalidFlowControlObjectError("queueLengthLimit must be positive")
    try:
        Dealer(queues, hand_size)
    except ValueError as error:
        raise InvalidFlowControlObjectError(str(error)) from None
    return QueuingConfiguration(min(queues, MAX_FLOW_QUEUES), hand_size, queue_length_limit)
