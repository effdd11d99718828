"""Recursion that needs more than one stack."""

import subprocess
import sys

from apiext.meta.stack import roomy

_PROGRAM = """
from threading import Thread
from apiext.meta.stack import make_room

class Level:
    def __init__(self, number):
        self.number = number
    def __getattr__(self, name):
        return 0 if self.number == 0 else 1 + Level(self.number - 1).sum

make_room()
assert Level(2500).sum == 2500
thread = Thread(target=lambda: print(Level(2500).sum))
thread.start()
thread.join()
try:
    Level(10_000).sum
except RecursionError:
    print("bounded")
"""


def _count(levels: int) -> int:
    return 1 + roomy(_count, levels - 1) if levels else 0


def test_deeper_than_the_limit() -> None:
    """A result comes back from far below what one thread can call."""
    assert _count(5 * sys.getrecursionlimit()) == 5 * sys.getrecursionlimit()


def test_room_on_one_stack() -> None:
    """Thousands of calls fit, in threads too and where they go through C, and more are refused before the stack is full."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["2500", "bounded"]
