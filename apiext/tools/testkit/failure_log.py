"""The server's log in the report of a failed test."""

from __future__ import annotations

import re
from typing import Final

_MAX_LINES: Final = 200
_ROUTINE: Final = re.compile(r" (?:logger|event=request|audit_id|source|apf_\w+)(?:=\S+)?(?= |$)")
"""Fields of each request that tell nothing about a test."""
_OWN: Final = " user_agent=apiext "
"""In the log of the kit's own requests."""


def shown_log(log: str) -> str:
    """Return the last lines of a log without the kit's own requests, unless these failed."""
    lines = [_ROUTINE.sub("", line) for line in log.splitlines() if _OWN not in line or " code=2" not in line]
    left_out = [f"... {len(lines) - _MAX_LINES} lines are left out"] if len(lines) > _MAX_LINES else []
    return "\n".join([*left_out, *lines[-_MAX_LINES:]])
