"""The parts of seats that worker processes have."""

import pytest

from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.seat_part import SeatPart
from tests.unit.api.flowcontrol.fake_clock import FakeClock

WORKERS = (1, 2, 3, 4, 8, 16)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("turn", range(5))
def test_parts_add_up(workers: int, turn: int) -> None:
    """Give each worker a part so that all parts are the whole, and more seats never make a part smaller."""
    parts = [SeatPart(index, workers) for index in range(workers)]

    assert [sum(part.of(seats, turn) for part in parts) for seats in range(50)] == list(range(50))
    for part in parts:
        found = [part.of(seats, turn) for seats in range(50)]
        assert found == sorted(found)


def _controllers(workers: int) -> list[Controller]:
    found = [Controller(seats=150, part=SeatPart(index, workers), clock=FakeClock()) for index in range(workers)]
    for controller in found:
        controller.configure(BOOTSTRAP.levels)
    return found


@pytest.mark.parametrize("workers", WORKERS)
def test_the_seats_of_all_workers_are_those_of_one_process(workers: int) -> None:
    """Divide the seats of each level; a level with fewer seats than workers has one in each of them, so that no request waits for ever."""
    (whole,) = _controllers(1)
    parts = _controllers(workers)

    for name, state in whole.levels.items():
        nominal = [controller.levels[name].limits.nominal for controller in parts]
        expected = state.limits.nominal if state.limits.nominal >= workers else workers * min(1, state.limits.nominal)
        assert (name, sum(nominal)) == (name, expected)
        assert max(nominal) - min(nominal) <= 1
        for controller in parts:
            limits = controller.levels[name].limits
            assert limits.minimum <= limits.nominal <= limits.maximum
    for controller in parts:
        assert sum(state.limits.nominal for state in controller.levels.values()) <= 150 // workers + len(whole.levels)
