"""Clients that send requests to a queue set as fast as they may, in the time of a fake clock."""

from dataclasses import dataclass, field
from functools import partial

from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration
from apiext.api.flowcontrol.fairqueuing.flow_queue import FlowRequest
from apiext.api.flowcontrol.fairqueuing.queue_set import QueueSet
from apiext.api.flowcontrol.phase import Phase, Rejected
from apiext.api.flowcontrol.shuffle_sharding import Dealer, flow_hash
from apiext.api.flowcontrol.work_estimate import WorkEstimate
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.unit.api.flowcontrol.fake_clock import SECOND, FakeClock

DIGEST = (UserInfo("alice", ("group",)), RequestInfo(is_resource=True, verb="get", resource="widgets"))


def level(queues: int = 0, hand: int = 1, length: int = 50, *, exempt: bool = False) -> PriorityLevel:
    """Return a level, without queuing if it has no queues."""
    return PriorityLevel(name="level", is_exempt=exempt, queuing=QueuingConfiguration(queues, hand, length) if queues else None)


def distinct_flows(number: int, queues: int, hand: int) -> list[str]:
    """Return distinguishers of flows that share no queue."""
    dealer, found, taken = Dealer(queues, hand), list[str](), set[int]()
    for name in map(str, range(1_000_000)):
        cards = dealer.deal(flow_hash("schema", name))
        if taken.isdisjoint(cards):
            taken.update(cards)
            found.append(name)
            if len(found) == number:
                break
    return found


@dataclass
class Client:
    """Threads that alternate between a request and a pause."""

    flow: str
    threads: int
    run: int = SECOND
    pause: int = SECOND - 1
    estimate: WorkEstimate = field(default_factory=WorkEstimate)
    begin: int = 0
    executed: int = 0
    rejected: int = 0
    used: int = 0
    """Nanoseconds of seats."""


class Traffic:
    """A queue set and its clients."""

    def __init__(self, configuration: PriorityLevel, limit: int) -> None:
        self.clock = FakeClock()
        self.queues = QueueSet(self.clock)
        self.queues.configure(configuration, limit=limit, denominator=limit)
        self._end = 0

    def run(self, clients: list[Client], seconds: float) -> list[float]:
        """Let the clients send requests for a time; return the seats that each used on average."""
        start, self._end = self.clock.time, self.clock.time + round(seconds * SECOND)
        for number, client in enumerate(clients):
            client.used = 0
            for thread in range(client.threads):
                self.clock.call_later(client.begin + 90 * thread + 20 * number, partial(self._call, client))
        self.clock.run_until(self._end)
        return [client.used / (self._end - start) for client in clients]

    def _call(self, client: Client) -> None:
        try:
            request = self.queues.start("schema", client.flow, client.estimate, DIGEST)
        except Rejected:
            client.rejected += 1
            self.clock.call_later(client.run + client.pause, lambda: self._call(client))
            return
        if request.phase is Phase.EXECUTING:
            self._execute(client, request)
        else:
            request.notify = lambda: self._execute(client, request)

    def _execute(self, client: Client, request: FlowRequest) -> None:
        client.executed += 1
        client.used += max(0, min(client.run, self._end - self.clock.time)) * client.estimate.initial_seats
        self.clock.call_later(client.run, request.finish)
        self.clock.call_later(client.run + client.pause, lambda: self._call(client))
