"""The layers of builds behind the Helm chart."""

import pytest

from hack.lib.chart.choices import BACKUP, SERVERS, WORKERS, Choice
from hack.lib.chart.layers import Branch, Fields, IndistinctError, Items, Scalar, layered

PLAIN, SAVED, QUICK = (Choice(options=frozenset({SERVERS, *more})) for more in ((), (BACKUP,), (WORKERS,)))


def test_what_all_builds_have_has_no_condition() -> None:
    """Keep equal parts, and a condition for a field, an item or a value that only some builds have."""
    (branch,) = layered({PLAIN: {"args": ["a"], "n": 1}, SAVED: {"args": ["b", "a"], "n": 1, "more": True}, QUICK: {"args": ["a"], "n": 2}})

    assert branch == Branch(
        "",
        Fields(
            {
                "args": (
                    "",
                    [Branch("", Items([Branch(".Values.backup.enabled", Scalar("b")), Branch("", Scalar("a"))]))],
                ),
                "n": ("", [Branch("not .Values.workers.enabled", Scalar(1)), Branch(".Values.workers.enabled", Scalar(2))]),
                "more": (".Values.backup.enabled", [Branch("", Scalar(True))]),
            }
        ),
    )


def test_a_difference_without_a_condition() -> None:
    """Refuse builds in which no few values tell the differences apart."""
    with pytest.raises(IndistinctError, match="no condition for"):
        layered({PLAIN: {}, SAVED: {"a": 1}, QUICK: {"a": 1}})
