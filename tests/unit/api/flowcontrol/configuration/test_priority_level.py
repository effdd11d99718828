"""PriorityLevelConfigurations as data."""

import pytest

from apiext.api.flowcontrol.configuration.members import InvalidFlowControlObjectError
from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration, parse_priority_level
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.limits import MAX_FLOW_QUEUES

REJECT: Object = {"type": "Reject"}


def level(spec: Object, name: str = "pl") -> Object:
    """Return a PriorityLevelConfiguration."""
    return {"metadata": {"name": name, "uid": "u"}, "spec": spec}


def limited(**members: object) -> Object:
    """Return a limited PriorityLevelConfiguration."""
    return level({"type": "Limited", "limited": {"limitResponse": REJECT, **members}})


def queue(**queuing: int) -> Object:
    """Return a limited PriorityLevelConfiguration with queues."""
    return limited(limitResponse={"type": "Queue", "queuing": queuing})


def test_defaults() -> None:
    """Fill in the defaults of the API."""
    assert parse_priority_level(limited()) == PriorityLevel(name="pl", uid="u", nominal_concurrency_shares=30)
    assert parse_priority_level(queue()).queuing == QueuingConfiguration(queues=64, hand_size=8, queue_length_limit=50)
    assert parse_priority_level(level({"type": "Exempt", "exempt": {}}, "exempt")) == PriorityLevel(name="exempt", uid="u", is_exempt=True)


def test_reads_members() -> None:
    """Read shares, percentages and queues; zero shares are no missing shares."""
    found = parse_priority_level(limited(nominalConcurrencyShares=0, lendablePercent=20, borrowingLimitPercent=0))

    assert (found.nominal_concurrency_shares, found.lendable_percent, found.borrowing_limit_percent) == (0, 20, 0)
    assert parse_priority_level(queue(queues=9, handSize=3, queueLengthLimit=7)).queuing == QueuingConfiguration(9, 3, 7)


def test_limits_queues() -> None:
    """Use fewer queues than an object asks for if these are very many, and refuse what the reference refuses."""
    found = parse_priority_level(queue(queues=10_000_000, handSize=2)).queuing

    assert found == QueuingConfiguration(MAX_FLOW_QUEUES, 2, 50)
    with pytest.raises(InvalidFlowControlObjectError):
        parse_priority_level(queue(queues=10_000_000, handSize=3))


@pytest.mark.parametrize(
    "obj",
    [
        level({}),
        level({"type": "Other"}),
        level({"type": "Limited"}),
        level({"type": "Exempt", "exempt": {}}),
        level({"type": "Limited", "limited": {"limitResponse": REJECT}}, "exempt"),
        level({"type": "Limited", "limited": {"limitResponse": REJECT}, "exempt": {}}),
        limited(limitResponse={"type": "Queue"}),
        limited(limitResponse={"type": "Reject", "queuing": {}}),
        limited(limitResponse={}),
        limited(nominalConcurrencyShares=-1),
        limited(nominalConcurrencyShares="3"),
        limited(lendablePercent=101),
        limited(borrowingLimitPercent=-2),
        queue(queues=4, handSize=5),
        queue(handSize=-1),
        queue(queueLengthLimit=-1),
    ],
)
def test_refuses_invalid_objects(obj: Object) -> None:
    """Refuse unions whose members do not agree, other types, and numbers out of range."""
    with pytest.raises(InvalidFlowControlObjectError):
        parse_priority_level(obj)
