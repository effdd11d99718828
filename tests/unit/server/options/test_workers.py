"""The number of worker processes, from the flag and from the machine."""

import os
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.flags import OptionsError
from apiext.server.options.flags import read_options, usable_processors

ETCD: dict[str, Any] = {"etcd_servers": ("http://127.0.0.1:2379",)}
AUTO: dict[str, Any] = {"workers": "auto"}


@pytest.fixture(autouse=True)
def _eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow the process to run on eight processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))


@pytest.mark.parametrize(
    "flags, workers",
    [
        ({}, 1),
        ({"workers": "1"}, 1),
        ({"workers": "auto"}, 1),
        (ETCD, 1),
        (ETCD | {"workers": "4"}, 4),
        (ETCD | {"max_requests_inflight": "3", "max_mutating_requests_inflight": "2"} | AUTO, 5),
        (ETCD | {"max_requests_inflight": "3", "enable_priority_and_fairness": "false"} | AUTO, 3),
    ],
)
def test_reads_the_number(flags: dict[str, Any], workers: int) -> None:
    """Serve with one process by default, and on SQLite also with `auto`."""
    assert read_options(flags).workers == workers


@pytest.mark.parametrize(
    "flags, problem",
    [
        ({"workers": "2"}, "--workers: needs --etcd-servers too: one process owns the embedded store, its log and its caches"),
        (ETCD | {"workers": "0"}, "--workers: 0 is not between 1 and 64"),
        (ETCD | {"workers": "many"}, "--workers: 'many' is not a whole number"),
        (
            ETCD | {"workers": "4", "max_requests_inflight": "2", "max_mutating_requests_inflight": "1"},
            "--workers: 4 workers cannot divide 3 concurrent requests (--max-requests-inflight)",
        ),
        (
            ETCD | {"workers": "4", "max_mutating_requests_inflight": "3", "enable_priority_and_fairness": "false"},
            "--workers: 4 workers cannot divide 3 concurrent requests (--max-mutating-requests-inflight)",
        ),
    ],
)
def test_refuses_with_a_reason(flags: dict[str, Any], problem: str) -> None:
    """Refuse several processes where they cannot work."""
    with pytest.raises(OptionsError) as refused:
        read_options(flags)

    assert refused.value.problems == [problem]


@pytest.mark.parametrize(
    "own, files, processors",
    [
        ("0::/\n", {}, 8),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu.max": "350000 100000\n"}, 3),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "1600000 100000\n"}, 8),
        ("0::/pods/one\n", {"pods/cpu.max": "200000 100000\n", "pods/one/cpu.max": "max 100000\n"}, 2),
        ("4:cpu,cpuacct:/one\n1:memory:/one\n", {"cpu/one/cpu.cfs_quota_us": "400000\n", "cpu/one/cpu.cfs_period_us": "100000\n"}, 4),
        ("4:cpu,cpuacct:/one\n", {"cpu/one/cpu.cfs_quota_us": "-1\n", "cpu/one/cpu.cfs_period_us": "100000\n"}, 8),
    ],
)
def test_counts_usable_processors(tmp_path: Path, own: str, files: dict[str, str], processors: int) -> None:
    """Count whole processors within the affinity and the limits of the cgroup and of those around it, in both versions."""
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    assert usable_processors(tmp_path / "cgroup", tmp_path / "own") == processors
