"""The hostile client of hack/soak: definitions that are served for a while."""

import http.client
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from hack.lib.soak import attack
from hack.lib.soak.access import Access
from hack.lib.soak.collection import CRDS, GROUP, definition

_NAME = f"{CRDS}/gadgets.{GROUP}"
_PATH = f"/apis/{GROUP}/v1/namespaces/attacked/gadgets"
_CREATED = {f"POST {CRDS}": [201]}
_DELETED = {f"DELETE {_NAME}": [200], f"GET {_NAME}?limit=1": [200, 404], f"GET {_PATH}?limit=1": [200, 404]}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once."""
    monkeypatch.setattr(attack, "_POLL", 0.0)


class Scripted(attack.Attack):
    """A client whose requests get scripted answers, the last one again and again; `seen` has the requests."""

    def __init__(self, answers: Mapping[str, Sequence[int]]) -> None:
        access = cast("Access", None)
        super().__init__(access, access, access, reduced=True)
        self._script = {request: list(statuses) for request, statuses in answers.items()}
        self.seen: list[str] = []

    def _exchange(self, data: bytes, _access: Access | None = None, *, credentials: bool = True) -> tuple[int, str]:
        assert credentials
        request = data.partition(b" HTTP/1.1\r\n")[0].decode()
        self.seen.append(request)
        statuses = self._script[request]
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        return status, f"error of {request}" if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR else ""

    def use(self, **options: Any) -> list[str]:
        """Return the requests before and after a block with a definition."""
        with self.defined(definition("gadgets", "Gadget"), **options) as path:
            assert path == _PATH
            self.seen.append("block")
        return self.seen


def test_waits_until_objects_can_be_written_and_the_definition_is_gone() -> None:
    """Wait for a mirror that answers reads only, and for the end of the definition and its collection; count no answer of these waits."""
    client = Scripted(_CREATED | _DELETED | {f"POST {_PATH}?dryRun=All": [404, 429, 429, 400]})

    write, name, path = f"POST {_PATH}?dryRun=All", f"GET {_NAME}?limit=1", f"GET {_PATH}?limit=1"
    assert client.use() == [f"POST {CRDS}", *[write] * 4, "block", f"DELETE {_NAME}", name, name, path, path]
    assert client.answers == Counter({(201, ""): 1, (200, ""): 1})


def test_does_not_wait_for_what_is_not_served() -> None:
    """Wait for nothing if the definition is refused, and for its end only if its names are taken."""
    refused, taken = Scripted({f"POST {CRDS}": [422]}), Scripted(_CREATED | _DELETED)

    assert refused.use() == [f"POST {CRDS}", "block"]
    assert taken.use(served=False)[:3] == [f"POST {CRDS}", "block", f"DELETE {_NAME}"]


def test_counts_server_errors_of_waits() -> None:
    """Count a defect that an answer shows while the definition is not served yet."""
    client = Scripted(_CREATED | _DELETED | {f"POST {_PATH}?dryRun=All": [404, 500]})

    client.use()

    assert client.answers[500, f"error of POST {_PATH}?dryRun=All"] == 1
