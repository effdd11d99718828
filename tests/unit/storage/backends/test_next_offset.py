"""Offsets of restored stores."""

import json

import pytest

from apiext.storage.backend import BackendError
from apiext.storage.backends.revision_offset import next_offset

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    "highest,now,expected",
    [
        pytest.param(500, NOW, 1_800_000_000_000_000, id="the time is above a young store"),
        pytest.param(10**15 + 500, NOW, 1_800_000_000_000_000, id="the time is above a store behind a host"),
        pytest.param(1_800_000_000_000_500, NOW, 1_801_000_000_000_500, id="a clock that stands still"),
        pytest.param(500, 0.0, 1_000_000_000_500, id="a clock without a time"),
    ],
)
def test_an_offset_is_above_all_known_revisions(highest: int, now: float, expected: int) -> None:
    """Return the time in microseconds, or a far greater number than the highest revision."""
    assert next_offset(highest, now) == expected


def test_offsets_stay_exact_in_json() -> None:
    """Refuse an offset that a JSON parser would round."""
    with pytest.raises(BackendError, match="cannot grow"):
        next_offset(2**53 - 10**12, NOW)

    assert json.loads(json.dumps(float(next_offset(500, NOW)))) == next_offset(500, NOW)
