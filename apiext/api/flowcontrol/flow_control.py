"""The current configuration of flow control: the classification of requests, and the seats of the priority levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.flowcontrol.configuration.classifier import Classifier
from apiext.api.flowcontrol.configuration.configuration import MANDATORY
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.seat_part import WHOLE
from apiext.api.flowcontrol.work_estimator import WatchTracker, WorkEstimator
from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.api.flowcontrol.configuration.configuration import Configuration
    from apiext.api.flowcontrol.seat_part import SeatPart
    from apiext.api.flowcontrol.work_estimator import ObjectStats

_LOG = get_logger(__name__)


class FlowControl:
    """Classifies requests and limits them by one configuration at a time, at first by the mandatory objects."""

    def __init__(self, *, seats: int, part: SeatPart = WHOLE, objects: Callable[[str, str], ObjectStats | None]) -> None:
        """Create flow control over the seats of the server, or a part of them. `objects` is the parameter of WorkEstimator."""
        self.controller = Controller(seats=seats, part=part)
        self.watches = WatchTracker()
        self.estimator = WorkEstimator(self.controller, objects=objects, watches=self.watches)
        self.classifier = Classifier(MANDATORY)
        self.controller.configure(MANDATORY.levels)

    def configure(self, configuration: Configuration) -> None:
        """Apply another configuration to all later requests; log each unusable object once."""
        known = set(self.classifier.configuration.problems)
        for problem in configuration.problems:
            if problem not in known:
                _LOG.warning("flow control object ignored", problem=problem)
        self.controller.configure(configuration.levels)
        self.controller.forget_flows({(schema.priority_level, schema.name) for schema in configuration.schemas})
        self.classifier = Classifier(configuration)
