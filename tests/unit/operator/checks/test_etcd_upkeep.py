"""Checks of an etcd's upkeep."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from apiext.operator.checks.etcd_members import EtcdEndpoint, EtcdMetrics, EtcdState, parse_metrics
from apiext.operator.checks.etcd_upkeep import UPKEEP, check_upkeep
from apiext.storage.etcd.maintenance import MemberStatus

MIB: Final = 1 << 20
STATUS: Final = MemberStatus(1, "3.7.0", 1000 * MIB, 900 * MIB, 1, is_learner=False, raft_index=9, applied_index=9, errors=())
TEXT: Final = """\
# TYPE etcd_server_quota_backend_bytes gauge
etcd_server_quota_backend_bytes 2.147483648e+09
# TYPE etcd_debugging_mvcc_db_compaction_last gauge
etcd_debugging_mvcc_db_compaction_last 1.8e+09
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 10
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.002"} 99
etcd_disk_wal_fsync_duration_seconds_bucket{le="8.192"} 100
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 100
etcd_disk_wal_fsync_duration_seconds_sum 1
etcd_disk_wal_fsync_duration_seconds_count 100
# TYPE etcd_disk_backend_commit_duration_seconds histogram
etcd_disk_backend_commit_duration_seconds_bucket{le="+Inf"} 0
"""


def state(status: MemberStatus | None = STATUS, **metrics: float | None) -> EtcdState:
    """Return an etcd of one member without a fault, except for what is given."""
    sound = EtcdMetrics(quota=2000 * MIB, compacted=datetime.now(UTC).timestamp(), sync=0.004, commit=0.008)
    end = datetime.now(UTC) + timedelta(days=300)
    endpoint = EtcdEndpoint("https://e:2379", status, "" if status else "refused", replace(sound, **metrics), end)
    return EtcdState([endpoint], ["m0"], 1, (), end)


def broken(of: EtcdState) -> dict[str, str]:
    """Return what fails, by check; each failure has a remedy."""
    found = [finding for finding in check_upkeep(of) if finding.broken]
    assert all(finding.verdict.remedy for finding in found)
    return {finding.check: finding.verdict.what for finding in found}


def test_metrics_are_read() -> None:
    """Read gauges, and the bucket that holds 99 % of a histogram; nothing from an empty one."""
    assert parse_metrics(TEXT) == EtcdMetrics(quota=2.0**31, compacted=1.8e9, sync=0.002, commit=None)
    assert parse_metrics("") == EtcdMetrics(None, None, None, None)


def test_a_sound_etcd() -> None:
    """Pass all checks, in order."""
    assert broken(state()) == {}
    assert [finding.check for finding in check_upkeep(state())] == list(UPKEEP)


@pytest.mark.parametrize(
    "check,status,metrics,what",
    [
        ("members", None, {}, "does not answer: refused"),
        ("members", replace(STATUS, leader=0), {}, "there is no quorum"),
        ("members", replace(STATUS, raft_index=9000), {}, "8991 entries behind"),
        ("members", replace(STATUS, errors=("x",)), {}, "x"),
        ("size", STATUS, {"quota": 1100 * MIB}, "1000 of 1100 MiB"),
        ("fragmentation", replace(STATUS, size_in_use=100 * MIB), {}, "100 of 1000 MiB are in use"),
        ("compaction", STATUS, {"compacted": 1.0}, "h ago"),
        ("disks", STATUS, {"sync": 0.256}, "sync take up to 256 ms"),
        ("disks", STATUS, {"commit": 0.512}, "commit take up to 512 ms"),
    ],
    ids=["silent", "no leader", "lagging", "errors", "quota", "fragmented", "uncompacted", "slow sync", "slow commit"],
)
def test_faults(check: str, status: MemberStatus | None, metrics: dict[str, float], what: str) -> None:
    """Name the fault of one check; the others pass."""
    found = broken(state(status, **metrics))

    assert list(found) == [check]
    assert what in found[check]


@pytest.mark.parametrize(
    "check,members,what",
    [
        ("alarms", {"alarms": [("m0", "NOSPACE")]}, "NOSPACE at m0"),
        ("alarms", {"alarms": [("m0", "CORRUPT")]}, "CORRUPT at m0"),
        ("members", {"members": ["m0", "m1"], "voters": 2}, "2 voting members: m0, m1"),
        ("certificates", {"client_certificate_end": datetime.now(UTC) + timedelta(days=3)}, "the client certificate ends at"),
    ],
    ids=["nospace", "corrupt", "even", "client certificate"],
)
def test_faults_of_the_cluster(check: str, members: dict[str, Any], what: str) -> None:
    """Name the fault of one check; the others pass."""
    found = broken(replace(state(), **members))

    assert list(found) == [check]
    assert what in found[check]


def test_what_cannot_be_known_is_not_broken() -> None:
    """Say that a check could not run without metrics or TLS."""
    plain = state()
    plain.endpoints[0].metrics = plain.endpoints[0].certificate_end = plain.client_certificate_end = None

    assert broken(plain) == {}
    assert [finding.check for finding in check_upkeep(plain) if str(finding.verdict.state) == "untold"] == [
        "size",
        "compaction",
        "disks",
        "certificates",
    ]
