"""The commands `apiext convert check`, `definition`, `init` and `test`."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import click
import pytest
import yaml
from click.testing import CliRunner

from apiext.cli.conversions.convert import convert
from apiext.resources.conversion.rules.definition import conversion_definition
from tests.support.builders.composites import xrd, xrd_version
from tests.support.builders.related_versions import INTEGER, NAME, STRING, conversion, crd_of_specs, obj

_RENAME: Final = {"rename": {"path": "spec.size", "to": "capacity"}}
_WRONG: Final = {"move": {"from": "spec.mode", "to": "spec.modus"}}


@pytest.fixture
def crd(tmp_path: Path) -> str:
    """Write the CRD of widgets."""
    return _written(
        tmp_path / "crd.yaml", crd_of_specs(v1=obj(size=INTEGER, mode=STRING, old=STRING), v2=obj(capacity=INTEGER, mode=STRING))
    )


def _written(path: Path, *documents: Any) -> str:
    path.write_text("# documents\n" + "---\n".join(yaml.safe_dump(each, sort_keys=False) for each in documents))
    return str(path)


def _run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(convert, arguments, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    assert (done.return_value or 0) == code
    return done.output


def test_check_prints_findings_with_lines(tmp_path: Path, crd: str) -> None:
    """Print each finding with the line of its rule, then what is lost and carried."""
    file = _written(tmp_path / "conversion.yaml", conversion(_RENAME, _WRONG, {"drop": {"path": "spec.old", "reason": "unused"}}))

    lines = _run("check", file, "--crds", crd, code=2).splitlines()

    assert lines == [
        f"{file}:17: problem: spec.spokes[0].rules[1].move.to: v2 has no field spec.modus",
        "  lost: spec.old of v1: unused",
        "widgets.example.com: invalid, 1 problem, 0 warnings",
    ]
    assert Path(file).read_text().splitlines()[16].strip() == "to: spec.modus"


def test_check_finds_crds_and_objects_in_one_file(tmp_path: Path) -> None:
    """Read CRDs and several Conversion objects from the same file, with lines of the file."""
    crd = crd_of_specs(v1=obj(size=INTEGER), v2=obj(capacity=INTEGER))
    file = _written(tmp_path / "all.yaml", crd, conversion(_RENAME), conversion({"rename": {"path": "spec.syze", "to": "capacity"}}))

    lines = _run("check", file, code=2).splitlines()

    line = 1 + Path(file).read_text().splitlines().index("        path: spec.syze")
    assert lines[0] == "widgets.example.com: valid, 0 problems, 0 warnings"
    assert lines[1] == f"{file}:{line}: problem: spec.spokes[0].rules[0].rename.path: v1 has no field spec.syze"
    assert lines[-1] == "widgets.example.com: invalid, 1 problem, 0 warnings"


def test_check_reports_mistakes_of_form(tmp_path: Path, crd: str) -> None:
    """Print the errors of the JSON Schema with lines."""
    file = _written(tmp_path / "conversion.yaml", conversion({"rename": {"path": "spec.size"}}))

    (line, *_) = _run("check", file, "--crds", crd, code=2).splitlines()

    assert line.startswith(f"{file}:12: problem: spec.spokes[0].rules[0].rename.to: Required value")


def test_check_writes_json(tmp_path: Path, crd: str) -> None:
    """Write findings for programs."""
    file = _written(tmp_path / "conversion.yaml", conversion(_RENAME))

    (found,) = json.loads(_run("check", file, "--crds", crd, "-o", "json"))

    assert found == {
        "file": file,
        "name": NAME,
        "valid": True,
        "problems": [],
        "warnings": [],
        "losses": [],
        "carried": [{"version": "v1", "path": "spec.old", "to": "v2"}],
    }


def test_check_names_the_line_of_malformed_yaml(tmp_path: Path) -> None:
    """Count the lines of the whole file."""
    file = Path(_written(tmp_path / "all.yaml", crd_of_specs(v1=obj(), v2=obj()), conversion()))
    lines = len(file.read_text().splitlines())
    file.write_text(file.read_text() + "a: b: c\n")

    with pytest.raises(click.ClickException, match=rf"all\.yaml: line {lines + 1}: mapping values"):
        _run("check", str(file))


def test_check_can_fail_on_warnings(tmp_path: Path) -> None:
    """End with code 1 for warnings if that is wanted."""
    crd = crd_of_specs(v1=obj(size=INTEGER), v2=obj(("size",), size=INTEGER))
    file = _written(tmp_path / "all.yaml", crd, conversion())

    assert "warning: spec.spokes[0]: v2 requires spec.size" in _run("check", file)
    _run("check", file, "--fail-on", "warning", code=1)


@pytest.mark.parametrize(
    "content, message",
    [
        ([], "there are no objects of kind Conversion in"),
        ([conversion()], "conversion.yaml:5: there is no definition widgets.example.com in the same files; --crds says where it is"),
    ],
)
def test_check_cannot_run(tmp_path: Path, content: list[Any], message: str) -> None:
    """End with code 3 if there is nothing to check."""
    file = _written(tmp_path / "conversion.yaml", *content)

    with pytest.raises(click.ClickException, match=message) as raised:
        _run("check", file)
    assert raised.value.exit_code == 3


def test_definition_prints_the_crd() -> None:
    """Print YAML for kubectl."""
    text = _run("definition")

    assert yaml.safe_load(text) == conversion_definition()
    assert "*id" not in text


def test_init_writes_rules_that_pass_the_check(tmp_path: Path, crd: str) -> None:
    """Print a draft that check accepts."""
    text = _run("init", crd)
    file = tmp_path / "draft.yaml"
    file.write_text(text)

    assert "# A similar name." not in text
    assert _run("check", str(file), "--crds", crd).splitlines()[-1] == "widgets.example.com: valid, 0 problems, 0 warnings"


def test_init_writes_rules_for_each_crd_of_an_xrd(tmp_path: Path) -> None:
    """Print a Conversion for the CRD of the composite resource and one for that of the claim, which pass the check together."""
    file = _written(tmp_path / "xrd.yaml", xrd(xrd_version("v1", "a"), xrd_version("v2", "a", "b", referenceable=False), claim=True))
    text = _run("init", file)
    (tmp_path / "rules.yaml").write_text(text)

    assert [one["metadata"]["name"] for one in yaml.safe_load_all(text)] == ["servers.example.com", "xservers.example.com"]
    assert _run("check", str(tmp_path / "rules.yaml"), "--crds", file).count("valid, 0 problems") == 2


def test_init_needs_one_crd(tmp_path: Path, crd: str) -> None:
    """Say which CRDs a place has, or that it has none."""
    other = crd_of_specs(v1=obj(), v2=obj())
    other["metadata"]["name"] = "gadgets.example.com"
    other["spec"]["names"] |= {"plural": "gadgets", "kind": "Gadget", "listKind": "GadgetList", "singular": "gadget"}
    _written(tmp_path / "other.yaml", other)

    with pytest.raises(click.ClickException, match=r"several CRDs, --name says which: "):
        _run("init", str(tmp_path))
    assert "name: gadgets.example.com" in _run("init", str(tmp_path), "--name", "gadgets.example.com")
    with pytest.raises(click.ClickException, match=r"has no CRD x\.example\.com"):
        _run("init", crd, "--name", "x.example.com")
    with pytest.raises(click.ClickException, match="has no version v9"):
        _run("init", crd, "--hub", "v9")


def test_test_tries_generated_objects(tmp_path: Path, crd: str) -> None:
    """Print a line for each pair of versions, and the seed."""
    file = _written(tmp_path / "conversion.yaml", conversion(_RENAME))

    first, second, seed = _run("test", file, "--crds", crd, "--examples", "20", "--seed", "5").splitlines()

    assert first.startswith("widgets.example.com: v1 -> v2 -> v1: nothing is lost (20 objects, ")
    assert second.startswith("widgets.example.com: v2 -> v1 -> v2: nothing is lost (20 objects, ")
    assert seed == "seed 5: --seed=5 repeats this run"


def test_test_tries_given_objects(tmp_path: Path, crd: str) -> None:
    """Convert the objects of a folder without generated ones."""
    file = _written(tmp_path / "conversion.yaml", conversion(_RENAME))
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"size": 3, "old": "x"},
    }
    objects = _written(tmp_path / "objects.yaml", widget)

    found = json.loads(_run("test", file, "--crds", crd, "--examples", "0", "--objects", objects, "-o", "json", "--seed", "5"))

    there = found["pairs"][0]
    assert (found["seed"], there["source"], there["objects"], there["carrying"], there["counterexample"]) == (5, "v1", 1, 1, None)


def test_test_can_fail_on_warnings(tmp_path: Path) -> None:
    """Show valid objects that become invalid with an example, and end with code 1 if that is wanted."""
    crd = crd_of_specs(v1=obj(mode=STRING), v2=obj(mode=STRING | {"enum": ["a"]}))
    arguments = ("test", _written(tmp_path / "all.yaml", crd, conversion()), "--examples", "40", "--seed", "5")

    assert " valid in v1 and invalid in v2: spec.mode: Unsupported value: supported values: " in _run(*arguments)
    _run(*arguments, "--fail-on", "warning", code=1)
    example = json.loads(_run(*arguments, "-o", "json"))["pairs"][0]["invalid"][0]["example"]
    assert example["spec"]["mode"] != "a"


def test_test_shows_a_counterexample(tmp_path: Path, crd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """End with code 2, and show the object in both formats."""
    from apiext.resources.authoring.tried_rules import TriedRules

    convert_well = TriedRules.convert

    def lose(self: TriedRules, found: dict[str, Any], version: str) -> dict[str, Any]:
        converted = convert_well(self, found, version)
        converted["spec"].pop("mode", None)
        return converted

    monkeypatch.setattr(TriedRules, "convert", lose)
    file = _written(tmp_path / "conversion.yaml", conversion(_RENAME))
    arguments = ("test", file, "--crds", crd, "--examples", "50", "--seed", "5")

    assert "widgets.example.com: v1 -> v2 -> v1: BROKEN: an object that returns to its version is as it was" in _run(*arguments, code=2)
    example = json.loads(_run(*arguments, "-o", "json", code=2))["pairs"][0]["counterexample"]
    assert (example["way"], example["expected"]["spec"], example["actual"]["spec"]) == (["v1", "v2", "v1"], {"mode": "a"}, {})


def test_test_needs_valid_rules(tmp_path: Path, crd: str) -> None:
    """Show the problems of rules that cannot be tried."""
    file = _written(tmp_path / "conversion.yaml", conversion(_WRONG))

    with pytest.raises(click.ClickException, match=r"v2 has no field spec\.modus") as raised:
        _run("test", file, "--crds", crd)
    assert raised.value.exit_code == 3


def test_generated_objects_need_hypothesis(tmp_path: Path, crd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the extra to install."""
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    file = _written(tmp_path / "conversion.yaml", conversion(_RENAME))

    with pytest.raises(click.ClickException, match=r"pip install 'apiext\[test\]'"):
        _run("test", file, "--crds", crd)
