"""The number of worker processes (`--workers`)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.base.meta.flags import FlagReader
    from apiext.server.options.options import LimitOptions

_MOST: Final = 64
_CGROUPS: Final = Path("/sys/fs/cgroup")
_OWN_CGROUP: Final = Path("/proc/self/cgroup")


def read_workers(reader: FlagReader, limits: LimitOptions) -> int:
    """Return the number of workers. `auto` is that of the usable processors, but at most one for each concurrent request; 1 on SQLite."""
    on_etcd = bool(reader.value("etcd_servers"))
    seats = {"max_requests_inflight": limits.max_in_flight, "max_mutating_requests_inflight": limits.max_mutating_in_flight}
    if limits.priority_and_fairness:
        seats = {"max_requests_inflight": limits.max_in_flight + limits.max_mutating_in_flight}
    if reader.text("workers") == "auto":
        return min((usable_processors(), *filter(None, seats.values()))) if on_etcd else 1
    workers = reader.number("workers", 1, least=1, most=_MOST)
    if workers == 1:
        return 1
    if not on_etcd:
        reader.add_problem("workers", "needs --etcd-servers too: one process owns the embedded store, its log and its caches")
    for flag, number in seats.items():
        if 0 < number < workers:
            reader.add_problem("workers", f"{workers} workers cannot divide {number} concurrent requests (--{flag.replace('_', '-')})")
    return workers


def usable_processors(cgroups: Path = _CGROUPS, own_cgroup: Path = _OWN_CGROUP) -> int:
    """Return the number of whole processors that affinity and the limits of cgroups (v2 and v1) allow, at least 1, at most _MOST."""
    quotas = [int(quota) for folder in _folders(cgroups, own_cgroup) for quota in _quotas(folder)]
    return max(1, min(_MOST, len(os.sched_getaffinity(0)), *quotas))


def _quotas(folder: Path) -> list[float]:
    """Return the processors that a cgroup may use, empty without a limit."""
    found = []
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        found.append(float(quota) / float(period))
    with suppress(OSError, ValueError):
        quota, period = ((folder / f"cpu.cfs_{part}_us").read_text(encoding="ascii") for part in ("quota", "period"))
        if float(quota) > 0:
            found.append(float(quota) / float(period))
    return found


def _folders(cgroups: Path, own_cgroup: Path) -> list[Path]:
    """Return the folders of the process's cgroup and of those around it. In a container the outermost one is the container's."""
    found = []
    with suppress(OSError):
        for line in own_cgroup.read_text(encoding="utf-8", errors="replace").splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if controllers and "cpu" not in controllers.split(","):
                continue
            root = cgroups / "cpu" if controllers else cgroups
            own = root / path.lstrip("/")
            found += [own, *(parent for parent in own.parents if parent.is_relative_to(root))]
    return found
