"""Transcripts of clients."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from hack.lib.clients.transcript import Transcript, normalised, record

_NOTHING: Mapping[str, str] = {}


def _program(*lines: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"import sys\nfor line in {lines!r}: print(line)\nsys.exit({code})"]


def test_leaves_out_what_no_two_servers_share() -> None:
    """Replace revisions, uids, tokens, times and addresses, in texts too; the order of managedFields says nothing."""
    early: dict[str, Any] = {"manager": "a", "time": "2026-01-02T03:04:05Z"}
    late: dict[str, Any] = {"manager": "b", "time": "2026-01-02T03:04:06Z"}
    uid = "3f1c9d8e-0a1b-4c2d-8e3f-001122334455"
    text = f'{uid} at https://127.0.0.1:6443 on Sun Nov  1 01:02:03 2026: "{{\\"resourceVersion\\":\\"12\\"}}"'
    metadata = {"resourceVersion": "12", "uid": uid, "continue": "", "managedFields": [late, early]}

    found = normalised({"metadata": metadata, "message": text, "count": 3})

    sorted_fields = [{"manager": "a", "time": "TIME"}, {"manager": "b", "time": "TIME"}]
    assert found == {
        "metadata": {"resourceVersion": "REVISION", "uid": "UID", "continue": "", "managedFields": sorted_fields},
        "message": 'UID at https://SERVER on TIME: "{\\"resourceVersion\\":\\"REVISION\\"}"',
        "count": 3,
    }


def test_errors_have_no_order() -> None:
    """Sort the causes of a Status, and the errors in its message."""
    causes = [{"field": "spec.b"}, {"field": "spec.a"}]

    found = normalised(
        {"message": 'Gadget "x" is invalid: [spec.b: Required value, spec.a: Required value]', "details": {"causes": causes}}
    )

    assert found["message"] == 'Gadget "x" is invalid: [spec.a: Required value, spec.b: Required value]'
    assert found["details"]["causes"] == causes[::-1]


def test_keeps_lines_of_json_only() -> None:
    """Skip what a client prints besides its transcript."""
    found = record(_program("warning", '{"step": "get", "answer": 1}'), _NOTHING)

    assert [json.loads(line) for line in found.lines] == [{"step": "get", "answer": 1}]
    assert found.failure == ""


def test_shows_what_differs() -> None:
    """Return a diff with both values, and the end of a client that failed on one server."""
    one = record(_program('{"step": "get", "answer": 1}'), _NOTHING)
    other = record(_program('{"step": "get", "answer": 2}', code=3), _NOTHING)

    differences = one.differences(other)

    assert {'- "answer": 1,', '+ "answer": 2,'} <= set(differences)
    assert any(line.startswith("+exit code 3") for line in differences)
    assert one.differences(Transcript(one.lines)) == []
