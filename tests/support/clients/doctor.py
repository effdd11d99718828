"""Runs `apiext doctor` against a cluster."""

import json
import subprocess
import sys
from typing import Any

from hack.lib.servers.aggregated_cluster import NAMESPACE, SERVICE, AggregatedCluster
from hack.lib.servers.process import environment

Json = dict[str, Any]


def doctor(cluster: AggregatedCluster, group: str, *arguments: str) -> Json:
    """Return the report on a group, or on the host if the checks stop there."""
    flags = [f"--kubeconfig={cluster.plane.kubeconfig}", f"--server={cluster.apiext.url}", f"--service={NAMESPACE}/{SERVICE}"]
    done = subprocess.run(
        [sys.executable, "-m", "apiext", "doctor", group, "-o", "json", f"--service-port={cluster.apiext.port}", *flags, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
    )
    assert done.returncode in {0, 1}, done.stderr
    report: Json = json.loads(done.stdout)
    assert report["ok"] is (done.returncode == 0)
    found: Json = next(iter(report["groups"]), report["host"])
    return found


def names(report: Json, hop: str, what: str = "") -> bool:
    """Report whether the first broken hop of a report is `hop`, with `what` in its reason and with a remedy."""
    broken = next((one for one in report["hops"] if one["state"] == "broken"), None)
    return broken is not None and broken["hop"] == hop and what in broken["what"] and bool(broken["remedy"])
