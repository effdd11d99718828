"""The audit logs of the long run, one for each server."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_POLICY: Final[dict[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "None", "nonResourceURLs": ["/readyz*", "/metrics"]}, {"level": "Metadata"}],
}
_MEGABYTES: Final = 5
"""Size at which logs are rotated; all are kept."""


class AuditLogs:
    """The logs of all servers in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._policy = folder / "audit-policy.json"
        self._policy.write_text(json.dumps(_POLICY))

    def flags(self, number: int) -> Sequence[str]:
        """Return the flags of the server with a number."""
        log = self._folder / f"audit-{number}.log"
        return (f"--audit-policy-file={self._policy}", f"--audit-log-path={log}", f"--audit-log-maxsize={_MEGABYTES}")

    def events(self) -> int:
        """Return the number of events; the last one of a killed server may be cut."""
        return sum(log.read_bytes().count(b"\n") for log in self._folder.glob("audit-*.log"))
