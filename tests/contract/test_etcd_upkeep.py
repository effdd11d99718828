"""`apiext doctor` asks a real etcd, with TLS and with too little space."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from apiext.cli.doctor import doctor
from apiext.storage.backend import BackendError
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from hack.lib.servers.certificates import Authority
from hack.lib.servers.etcd import Etcd


def report(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[object, dict[str, Any]]:
    """Return the exit code and the findings by check."""
    code = doctor.main([*flags, "-o", "json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)["etcd"]
    return code, {hop["hop"]: hop for hop in found["hops"]}


def test_a_sound_etcd_with_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Read the state of a member, its metrics and its certificate, with the client's certificate."""
    with Etcd(tmp_path, authority=Authority(tmp_path / "ca"), durable=False) as etcd:
        _, found = report(
            capsys, f"--etcd-servers={etcd.url}", f"--etcd-cafile={etcd.ca}", f"--etcd-certfile={etcd.cert}", f"--etcd-keyfile={etcd.key}"
        )

    assert {name: hop["state"] for name, hop in found.items() if name not in ("disks", "certificates")} == {
        "members": "ok",
        "alarms": "ok",
        "size": "ok",
        "fragmentation": "ok",
        "compaction": "untold",
    }
    assert "3.7" in found["members"]["what"]
    assert "ends at" in found["certificates"]["what"]


def test_an_etcd_without_space(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Report the alarm of a member whose database has reached its quota, with the steps that end it; then that nothing answers."""
    with Etcd(tmp_path, durable=False, extra_args=("--quota-backend-bytes=1000000",)) as etcd:
        asyncio.run(_fill(etcd.url))
        code, found = report(capsys, f"--etcd-servers={etcd.url}")
    dead, silent = report(capsys, f"--etcd-servers={etcd.url}")

    assert code == dead == 1
    assert "NOSPACE at default" in found["alarms"]["what"]
    assert "alarm disarm" in found["alarms"]["remedy"]
    assert "does not answer" in silent["members"]["what"]


async def _fill(url: str) -> None:
    backend = await EtcdBackend.connect(EtcdConfig(servers=(url,)))
    try:
        with pytest.raises(BackendError, match="space exceeded"):
            await _write_many(backend)
    finally:
        await backend.close()


async def _write_many(backend: EtcdBackend) -> None:
    """Write until etcd refuses: it learns its size only when it commits, ten times a second."""
    for number in itertools.count():
        await backend.create(f"/registry/x/{number}", b"x" * 100_000)
