"""Tests of which servers the load balancer of the tests takes for ready."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from hack.lib.servers.balancer import Balancer


class Server:
    """Answers its probes as scripted, the last answer again and again."""

    url = ""

    def __init__(self, answers: Sequence[bool | OSError]) -> None:
        self._answers = answers
        self.probes = 0

    def ready(self) -> bool:
        """Return or raise the next answer."""
        answer = self._answers[min(self.probes, len(self._answers) - 1)]
        self.probes += 1
        if isinstance(answer, OSError):
            raise answer
        return answer


@pytest.mark.parametrize(
    "answers",
    [
        [True, False],
        [True, ConnectionRefusedError()],
        [True, TimeoutError(), TimeoutError(), True, TimeoutError(), TimeoutError(), TimeoutError()],
    ],
)
def test_unready_servers(answers: list[bool | OSError]) -> None:
    """Take a server out at its last answer, not earlier."""
    server = cast("Any", Server(answers))
    with Balancer([server]) as balancer:
        balancer.wait(server)
        balancer.wait()
        assert server.probes >= len(answers)


def test_late_servers() -> None:
    """Take a server that answers late for ready when it has answered once."""
    server = cast("Any", Server([TimeoutError(), True]))
    with Balancer([server]) as balancer:
        balancer.wait(server)
        assert server.probes >= 2
