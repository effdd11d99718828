"""Kills programs at random moments and starts them again."""

import random
from collections.abc import Sequence
from typing import Final

from hack.lib.pausable import Pausable
from hack.lib.servers.process import Service

LONGEST_LIFE: Final = 4.0
"""Maximum of seconds until the next kill."""
_LONGEST_ABSENCE: Final = 0.5
"""Maximum of seconds until the next start."""


class Faults(Pausable):
    """Kills programs in a thread between `start` and `pause`, one after the other, `count` times. Afterwards all run and are ready.

    The number is limited: the migrator of kube-controller-manager waits longer after each failure, up to minutes.
    """

    def __init__(self, victims: Sequence[Service], count: int, longest_life: float = LONGEST_LIFE) -> None:
        """Take the programs. Each lives at most `longest_life` seconds until the next kill."""
        super().__init__()
        self._longest_life = longest_life
        self._victims = victims
        self._count = count
        self._random = random.Random()  # noqa: S311 -- no secret
        self.kills = 0
        self.problems: list[str] = []

    def _run(self) -> None:
        for _ in range(self._count if self._victims else 0):
            if self._ended.wait(self._random.uniform(0, self._longest_life)):
                return
            victim = self._random.choice(self._victims)
            victim.kill()
            self._ended.wait(self._random.uniform(0, _LONGEST_ABSENCE))
            try:
                victim.start()
            except Exception as error:  # noqa: BLE001 -- reported with the findings
                self.problems.append(f"{victim.process.name} does not start again: {error}")
                return
            self.kills += 1
