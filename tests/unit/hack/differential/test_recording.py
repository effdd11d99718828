"""Recorded responses of the reference."""

import http.client
import json
from pathlib import Path

import pytest

from hack.lib.differential.pair import Response, Step
from hack.lib.differential.recording import Exchange, NotRecordedError, Recording, ReplayedSide

_READ = Step("GET", "/a")
_WRITE = Step("POST", "/a", {"b": "c"}, {"Accept": "*/*"})


def _response(status: int, data: bytes = b"{}", headers: tuple[tuple[str, str], ...] = ()) -> Response:
    return Exchange("", status, [list(one) for one in headers], data.decode("latin-1"), is_text=True).response()


def _replay(recording: Recording, folder: Path, case: str) -> ReplayedSide:
    recording.save(folder / "file.json.xz")
    return ReplayedSide(Recording.load(folder / "file.json.xz", [case]))


def test_replays_status_headers_and_body(tmp_path: Path) -> None:
    """Return what was recorded, but for the headers that differ each time."""
    recording = Recording("1.2.3", ["case"])
    headers = (("Warning", "a"), ("Warning", "b"), ("Date", "today"), ("Content-Type", "application/json"))
    recording.add(_WRITE, *_response(201, b'{"name": "\xc3\xa9"}', headers))
    binary = _response(200)[0], b"\xff\x00"
    recording.add(_READ, *binary)

    side = _replay(recording, tmp_path, "case")
    answer = side.ask(_WRITE)
    assert (answer.code, answer.headers) == (201, {"Warning": "a, b", "Content-Type": "application/json"})
    assert side.raw(_READ)[1] == b"\xff\x00"
    assert Recording.load(tmp_path / "file.json.xz").version == "1.2.3"


def test_keeps_the_last_of_equal_reads(tmp_path: Path) -> None:
    """Answer all reads of a loop with the response that ended it, and each write with its own."""
    recording = Recording("1.2.3", ["case"])
    for step, status in ((_READ, 404), (_READ, 200), (_WRITE, 201), (_WRITE, 409), (_READ, 410)):
        recording.add(step, *_response(status))

    side = _replay(recording, tmp_path, "case")
    found = [side.raw(step)[0].status for step in (_READ, _READ, _WRITE, _WRITE, _READ, _READ)]
    assert found == [200, 200, 201, 409, 410, 410]


@pytest.mark.parametrize("step", [_WRITE, Step("GET", "/a", headers={"Accept": "x"}), Step("GET", "/b")], ids=["again", "header", "path"])
def test_refuses_other_requests(step: Step, tmp_path: Path) -> None:
    """Say which case has to be recorded again."""
    recording = Recording("1.2.3", ["case"])
    recording.add(_WRITE, *_response(201))
    side = _replay(recording, tmp_path, "case")
    side.raw(_WRITE)

    with pytest.raises(NotRecordedError, match="case is not recorded with"):
        side.raw(step)


def test_separates_cases(tmp_path: Path) -> None:
    """Give each case the responses in its own order, whichever runs first."""
    current = ["one"]
    recording = Recording("1.2.3", current)
    recording.add(_WRITE, *_response(201))
    current[:] = ["two"]
    recording.add(_WRITE, *_response(409))

    recording.save(tmp_path / "file.json.xz")
    replayed = Recording.load(tmp_path / "file.json.xz", current)
    assert replayed.answer(_WRITE)[0].status == http.client.CONFLICT
    current[:] = ["one"]
    assert replayed.answer(_WRITE)[0].status == http.client.CREATED
    assert json.loads(replayed.cases["one"][0].body) == {}
