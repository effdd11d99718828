"""Tests of the metrics of priority and fairness."""

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.phase import Rejected
from apiext.api.flowcontrol.work_estimate import ONE_SEAT
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.server.routes.flowcontrol_metrics import FlowControlMetrics
from tests.unit.api.flowcontrol.fake_clock import SECOND, FakeClock

DIGEST = (UserInfo("alice"), RequestInfo(verb="get"))
NAMES = (
    *("current_executing_requests", "current_executing_seats", "current_inqueue_requests", "current_inqueue_seats"),
    *("current_limit_seats", "current_r", "demand_seats", "demand_seats_average", "demand_seats_high_watermark"),
    *("demand_seats_smoothed", "demand_seats_stdev", "dispatch_r", "dispatched_requests", "latest_s", "lower_limit_seats"),
    *("next_discounted_s_bounds", "next_s_bounds", "nominal_limit_seats", "priority_level_request_utilization"),
    *(
        "priority_level_seat_utilization",
        "read_vs_write_current_requests",
        "rejected_requests",
        "request_dispatch_no_accommodation",
        "request_execution_seconds",
    ),
    *("request_queue_length_after_enqueue", "request_wait_duration_seconds", "seat_fair_frac", "target_seats", "upper_limit_seats"),
    *("watch_count_samples", "work_estimated_seats"),
)


def test_metrics() -> None:
    """Render the statistics of a level with a request that ran, one that runs, one that waits and one that was rejected."""
    clock = FakeClock()
    controller = Controller(seats=1, clock=clock)
    level = PriorityLevel(name="level", nominal_concurrency_shares=1, queuing=QueuingConfiguration(1, 1, 1))
    controller.configure({"level": level})
    queues = controller.levels["level"].queues
    first = queues.start("schema", "", ONE_SEAT, DIGEST)
    clock.advance(SECOND)
    first.finish()
    for _ in range(2):
        queues.start("schema", "", ONE_SEAT, DIGEST)
    with pytest.raises(Rejected):
        queues.start("schema", "", ONE_SEAT, DIGEST)
    clock.advance(SECOND)
    controller.sample(SECOND)
    controller.adjust()
    registry = CollectorRegistry()
    registry.register(FlowControlMetrics(controller))

    values = {
        line.rpartition(" ")[0].removeprefix("apiserver_flowcontrol_"): float(line.rpartition(" ")[2])
        for line in generate_latest(registry).decode().splitlines()
        if not line.startswith("#")
    }

    assert {metric.name.removeprefix("apiserver_flowcontrol_") for metric in registry.collect()} == set(NAMES)
    flow, execute = 'flow_schema="schema",priority_level="level"', 'execute="true",flow_schema="schema",priority_level="level"'
    assert {name: value for name, value in values.items() if name in _expected(flow, execute)} == _expected(flow, execute)


def _expected(flow: str, execute: str) -> dict[str, float]:
    level = 'priority_level="level"'
    return {
        f"dispatched_requests_total{{{flow}}}": 2,
        f'rejected_requests_total{{{flow},reason="queue-full"}}': 1,
        f"current_inqueue_requests{{{flow}}}": 1,
        f"current_executing_seats{{{flow}}}": 1,
        f"current_limit_seats{{{level}}}": 1,
        f"demand_seats_high_watermark{{{level}}}": 2,
        f"demand_seats_average{{{level}}}": 1.5,
        f"demand_seats_stdev{{{level}}}": 0.5,
        f"current_r{{{level}}}": 2,
        f"request_wait_duration_seconds_count{{{execute}}}": 2,
        f"request_queue_length_after_enqueue_count{{{flow}}}": 3,
        f"work_estimated_seats_sum{{{flow}}}": 3,
        f'request_execution_seconds_sum{{{flow},type="regular"}}': 1,
        f'priority_level_seat_utilization_count{{phase="executing",{level}}}': 2 * SECOND,
        f"demand_seats_sum{{{level}}}": 3 * SECOND,
        'read_vs_write_current_requests_sum{phase="executing",request_kind="readOnly"}': SECOND,
        'read_vs_write_current_requests_sum{phase="waiting",request_kind="readOnly"}': SECOND,
        'read_vs_write_current_requests_bucket{le="0",phase="waiting",request_kind="mutating"}': SECOND,
    }
