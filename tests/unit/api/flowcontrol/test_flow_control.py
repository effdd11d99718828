"""Changes of the configuration of flow control."""

import logging

import pytest

from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP, MANDATORY, Configuration
from apiext.api.flowcontrol.flow_control import FlowControl
from apiext.api.flowcontrol.work_estimate import ONE_SEAT
from apiext.base.meta.request import AUTHENTICATED, UserInfo
from tests.unit.api.flowcontrol.configuration.test_flow_schema import resource_request

ANN = UserInfo("ann", (AUTHENTICATED,))


async def test_applies_configurations() -> None:
    """Begin with the mandatory objects; classify and limit by the configuration that was given last."""
    control = FlowControl(seats=10, objects=lambda *_: None)
    assert control.classifier.classify(ANN, resource_request()).schema.name == "catch-all"

    control.configure(BOOTSTRAP)

    assert control.classifier.classify(ANN, resource_request()).schema.name == "global-default"
    assert control.controller.levels.keys() == BOOTSTRAP.levels.keys()


async def test_forgets_the_statistics_of_removed_flow_schemas() -> None:
    """Drop the statistics of a FlowSchema that is not configured any more, unless it has requests, and keep those of others."""
    control, levels = FlowControl(seats=600, objects=lambda *_: None), BOOTSTRAP.levels
    control.configure(BOOTSTRAP)
    queues = control.controller.levels["global-default"].queues
    ended, running, kept = (queues.start(name, "", ONE_SEAT, (ANN, resource_request())) for name in ("ended", "running", "global-default"))
    ended.finish()
    kept.finish()

    control.configure(Configuration(BOOTSTRAP.schemas, levels))
    assert queues.flows.keys() == {"running", "global-default"}
    running.finish()
    control.configure(Configuration(BOOTSTRAP.schemas, levels))

    assert queues.flows.keys() == {"global-default"}


async def test_logs_each_problem_once(caplog: pytest.LogCaptureFixture) -> None:
    """Log an object that cannot be used when it is first seen."""
    control = FlowControl(seats=10, objects=lambda *_: None)
    broken = Configuration(MANDATORY.schemas, MANDATORY.levels, ("FlowSchema 'x': bad",))

    with caplog.at_level(logging.WARNING):
        control.configure(broken)
        control.configure(broken)

    assert [record.message for record in caplog.records] == ["flow control object ignored"]
