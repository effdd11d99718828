"""Removals that the reference has given up."""

from hack.lib.differential.stuck_removal import StuckRemoval

FAILED = '{"reason": "InstanceDeletionFailed", "message": "could not list instances: storage is (re)initializing"}'
OTHER = '{"reason": "InstanceDeletionInProgress", "message": "CustomResource deletion is in progress"}'


def test_changes_a_definition_whose_removal_failed() -> None:
    """Change it once in each second, and only while its removal has failed for that reason."""
    clock = FakeClock()
    changes: list[float] = []
    stuck = StuckRemoval(lambda: changes.append(clock.now()), clock.now)
    observed = ((0.5, FAILED), (1.0, OTHER), (1.5, FAILED), (1.6, FAILED), (2.4, FAILED), (2.5, FAILED), (9.0, OTHER))

    for moment, state in observed:
        clock.moment = moment
        stuck.observe(state)

    assert changes == [1.5, 2.5]


class FakeClock:
    """A clock that a test sets."""

    moment = 0.0

    def now(self) -> float:
        """Return the moment."""
        return self.moment
