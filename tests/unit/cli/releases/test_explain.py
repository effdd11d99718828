"""The command `apiext explain`."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from apiext.cli.releases.explain import explain
from tests.support.builders.crds import crd, widget
from tests.support.builders.definition_pairs import INTEGER, STRING, root, v1


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Write a definition, and an object before and after an update that violates it twice."""
    schema = root(size=INTEGER | {"maximum": 5}, host=STRING | {"maxLength": 2})
    _write(tmp_path / "crd.json", crd("widgets", v1(schema)))
    _write(tmp_path / "old.json", widget(size=9, host="abc"))
    _write(tmp_path / "new.json", widget(size=8, host="abc", other=1))
    return tmp_path


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content))


def _run(place: Path, *flags: str, code: int = 1) -> str:
    done = CliRunner().invoke(explain, [str(place / "new.json"), *flags], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    assert done.return_value == code
    return done.output


def test_the_reasons_are_printed(place: Path) -> None:
    """Print errors and tolerated violations with their reasons, and dropped fields."""
    assert _run(place, "--crd", str(place / "crd.json"), "--old", str(place / "old.json")).splitlines() == [
        "update of default/a (widgets.example.com, v1) is refused",
        "  error: spec.size: Invalid value: 8: spec.size in body should be less than or equal to 5",
        "      spec.size has changed from 9 to 8",
        "  tolerated: spec.host: Too long: may not be more than 2 bytes",
        "      spec.host is unchanged",
        '  dropped: unknown field "spec.other"',
    ]


def test_an_accepted_update_ends_with_code_0(place: Path) -> None:
    """Tell scripts that an update is accepted."""
    _write(place / "new.json", widget(size=9, host="abc") | {"metadata": {"name": "a", "labels": {"x": "y"}}})

    assert _run(place, "--crd", str(place / "crd.json"), "--old", str(place / "old.json"), code=0).splitlines()[0].endswith("is accepted")


def test_json_has_all_violations(place: Path) -> None:
    """Write a document for each object."""
    (document,) = json.loads(_run(place, "--crd", str(place / "crd.json"), "-o", "json"))

    assert (document["object"], document["operation"], document["accepted"]) == ("default/a", "create", False)
    assert [each["path"] for each in document["errors"]] == ["spec.host", "spec.size"]


@pytest.mark.parametrize(
    "content, reason",
    [
        ({"apiVersion": "other.com/v1", "kind": "Widget", "metadata": {"name": "a"}}, "has no definition of other.com, Kind=Widget"),
        ({"apiVersion": "example.com/v9", "kind": "Widget", "metadata": {"name": "a"}}, "does not serve v9 of widgets.example.com"),
        ([], "has no objects"),
    ],
)
def test_bad_input_is_one_line(place: Path, content: Any, reason: str) -> None:
    """Say what is wrong with a file."""
    _write(place / "new.json", content)

    with pytest.raises(Exception, match=reason):
        _run(place, "--crd", str(place / "crd.json"))
