"""The order in which plug-ins are called, their second run, and what is counted."""

from dataclasses import dataclass, field

import pytest

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.admission.chain import Chain
from apiext.api.admission.metrics import AdmissionStats
from apiext.base.meta import errors
from apiext.base.meta.request import AdmissionOperation
from tests.unit.api.admission.creations import widget


@dataclass(eq=False)
class Mutation(Admission):
    """Records its calls, and asks for a second run after its first one."""

    name: str
    calls: list[str] = field(default_factory=list)
    again: bool = False

    async def admit(self, attributes: Attributes) -> None:
        """Record the call."""
        self.calls.append(f"{self.name} {attributes.reinvocation.runs_again}")
        attributes.reinvocation.is_required |= self.again


@dataclass(eq=False)
class Refusal(Admission):
    """Refuses all creates in validating admission."""

    name: str = "Refusal"
    operations = frozenset({AdmissionOperation.CREATE})
    calls: list[str] = field(default_factory=list)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a write."""
        raise errors.bad_request("no")


async def test_runs_all_mutations_again_if_one_asks_for_it() -> None:
    """Call the plug-ins in order, and all of them a second time if one has set that, but no third time."""
    calls: list[str] = []
    chain = Chain([Mutation("a", calls), Mutation("b", calls, again=True), Mutation("c", calls)])

    await chain.admit(widget())

    assert calls == ["a False", "b False", "c False", "a True", "b True", "c True"]


async def test_counts_steps_and_plugins() -> None:
    """Count each call of a plug-in in its phase, and each phase, by operation and outcome. Plug-ins without a name are not counted."""
    stats = AdmissionStats()
    chain = Chain([Mutation("a", []), Mutation("", []), Refusal()], stats=stats)

    await chain.admit(widget())
    with pytest.raises(errors.StatusError):
        await chain.validate(widget())

    counted = {labels: (one.accepted.count, one.rejected.count) for labels, one in stats.controllers.items() if one.count}
    assert counted == {("a", "admit", "CREATE"): (1, 0), ("Refusal", "validate", "CREATE"): (0, 1)}
    assert {labels: (one.accepted.count, one.rejected.count) for labels, one in stats.steps.items() if one.count} == {
        ("admit", "CREATE"): (1, 0),
        ("validate", "CREATE"): (0, 1),
    }


async def test_counts_of_other_processes_are_added() -> None:
    """Move counts to another process and add them there. Series that chains hold count on from zero."""
    stats, server = AdmissionStats(), AdmissionStats()
    chain = Chain([Mutation("a", [])], stats=stats)
    for _ in range(2):
        await chain.admit(widget())
        stats.observe_webhook("w", 0.2, "admit", AdmissionOperation.CREATE, code=999, rejected=True)
        server.add(stats.take())

    assert server.controllers["a", "admit", "CREATE"].accepted.count == 2
    assert server.webhook_requests == {("w", "admit", "CREATE", "600", "true"): 2}
    assert server.webhooks["w", "admit", "CREATE", "true"].buckets[3] == 2
    assert stats.webhook_requests == {}
