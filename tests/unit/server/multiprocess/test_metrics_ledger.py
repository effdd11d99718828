"""The metrics that workers share, and those of ended ones."""

import os

import pytest

from apiext.server.multiprocess.metric_sums import FamilyRecord, SampleRecord
from apiext.server.multiprocess.scoreboard import MetricsLedger, Scoreboard, SharedRecord


def _families(count: float) -> list[FamilyRecord]:
    return [
        FamilyRecord("requests", "counter", "Requests.", [SampleRecord("requests_total", (("code", "200"),), count)]),
        FamilyRecord("tasks", "gauge", "Tasks.", [SampleRecord("tasks", (), count)]),
    ]


def _count(ledger: MetricsLedger) -> float:
    return sum(family.samples[0].value for families in ledger.read() for family in families if family.name == "requests")


def test_counters_outlive_their_workers() -> None:
    """Keep the sum of counters when workers end, and drop their gauges."""
    ledger = MetricsLedger(2, Scoreboard(2))
    assert ledger.read() == []
    ledger.write(0, _families(3))
    ledger.write(1, _families(4))

    ledger.retire(0)
    assert _count(ledger) == 7
    ledger.write(0, _families(1))
    ledger.retire(0)
    ledger.retire(0)

    assert _count(ledger) == 8
    assert [[family.name for family in families] for families in ledger.read()] == [["requests"], ["requests", "tasks"]]
    ledger.reset()
    assert _count(ledger) == 4


def test_the_end_of_a_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the former bytes after a write that did not end."""

    def end(file: int, data: bytes, offset: int) -> None:
        os.lseek(file, offset, os.SEEK_SET)
        os.write(file, data[:3])
        raise KeyboardInterrupt

    record = SharedRecord("test")
    assert record.read() == b""
    record.write(b"first")
    record.write(b"second")
    assert record.read() == b"second"

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", end)
        with pytest.raises(KeyboardInterrupt):
            record.write(b"third")

    assert record.read() == b"second"
    record.write(b"third")
    assert record.read() == b"third"
