"""The record of all requests about single objects, in a file, for the checker of linearizability."""

import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

OK: Final = "ok"
MISSING: Final = "missing"
EXISTS: Final = "exists"
CONFLICT: Final = "conflict"
REFUSED: Final = "refused"
"""The server said that it did nothing."""
UNKNOWN: Final = "unknown"
"""No answer, or one that leaves open what happened."""


@dataclass(frozen=True)
class Operation:
    """One request about an object, as hack/linearizability/model.go describes it; times are nanoseconds of the monotonic clock."""

    object: str
    client: int
    verb: str
    outcome: str
    call: int
    # `return` is a keyword; the file has it.
    returned: int
    base: int = 0
    value: int = 0
    status: int = 0
    revision: int = 0


class History:
    """Appends operations to a file; clients in several threads share it.

    `acknowledged` has the time of the answer, the revision and the name of each successful write but deletions.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("w")
        self._lock = threading.Lock()
        self.operations = 0
        self.unknown = 0
        self.acknowledged: list[tuple[int, int, str]] = []

    def add(self, operation: Operation) -> None:
        """Record an operation that has ended."""
        line = asdict(operation)
        line["return"] = line.pop("returned")
        with self._lock:
            self._file.write(json.dumps(line) + "\n")
            self.operations += 1
            self.unknown += operation.outcome == UNKNOWN
            if operation.outcome == OK and operation.verb not in {"get", "delete"}:
                self.acknowledged.append((operation.returned, operation.revision, operation.object))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
