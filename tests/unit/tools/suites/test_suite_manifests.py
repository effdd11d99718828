"""Manifests of suites, with the layout of openshift/api and without it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiext.tools.suites.collection import collect, suite_paths
from apiext.tools.suites.model import SuiteError
from apiext.tools.suites.selection_expression import parse_selection
from apiext.tools.suites.suite_manifests import read_definition
from tests.support.builders.composites import xrd, xrd_version
from tests.support.builders.crds import crd, version

PROFILE = "include.release.openshift.io/ibm-cloud-managed"
SET = "release.openshift.io/feature-set"
MAJOR = "release.openshift.io/major-version"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a folder with the layout of openshift/api: manifests of feature sets, and the gates of these."""
    generated = tmp_path / "example/v1/zz_generated.crd-manifests"
    generated.mkdir(parents=True)
    _manifest(generated / "custom.yaml", {SET: "CustomNoUpgrade"})
    _manifest(generated / "default.yaml", {SET: "Default,OKD", PROFILE: "true"})
    _manifest(generated / "preview.yaml", {SET: "TechPreviewNoUpgrade", PROFILE: "true"})
    _manifest(generated / "ungated.yaml", {PROFILE: "true"})
    (generated / "other.yaml").write_text(yaml.safe_dump(crd("others")))
    (generated / "broken.yaml").write_text("kind: CustomResourceDefinition\na: [")
    gates = tmp_path / "payload-manifests/featuregates"
    gates.mkdir(parents=True)
    _gates(gates / "a.yaml", {SET: "Default", PROFILE: "false-positive", MAJOR: "4,5"}, enabled=["Old"], disabled=["New"])
    _gates(gates / "b.yaml", {SET: "TechPreviewNoUpgrade", PROFILE: "false-positive"}, enabled=["Old", "New"], disabled=[])
    (tmp_path / "example/v1/tests/widgets.example.com").mkdir(parents=True)
    return tmp_path


def _manifest(path: Path, annotations: Mapping[str, str]) -> None:
    document = crd(versions=[version("v1", storage=True, note=path.name)])
    document["metadata"]["annotations"] = dict(annotations)
    path.write_text(yaml.safe_dump(document, sort_keys=False))


def _gates(path: Path, annotations: Mapping[str, str], **gates: Any) -> None:
    status = {"featureGates": [{name: [{"name": gate} for gate in found] for name, found in gates.items()}]}
    path.write_text(yaml.safe_dump({"metadata": {"annotations": dict(annotations)}, "status": status}))


def _suite(tree: Path, *gates: str) -> None:
    document = {"crdName": "widgets.example.com", "featureGates": list(gates), "tests": {"onCreate": [{"name": "a", "initial": ""}]}}
    (tree / "example/v1/tests/widgets.example.com/a.yaml").write_text(yaml.safe_dump(document))


@pytest.mark.parametrize(
    "gates,expected",
    [
        ([], ["custom.yaml", "default.yaml", "preview.yaml", "ungated.yaml"]),
        (["New"], ["custom.yaml", "preview.yaml"]),
        (["-New"], ["default.yaml", "ungated.yaml"]),
        (["Old", "-New"], ["default.yaml", "ungated.yaml"]),
        (["Old"], ["custom.yaml", "default.yaml", "preview.yaml", "ungated.yaml"]),
    ],
)
def test_gates_choose_manifests(gates: list[str], expected: list[str], tree: Path) -> None:
    """A suite runs with each manifest whose feature set and profile have the gates, as in tests/crd_filter.go."""
    _suite(tree, *gates)

    found = collect([str(tree)])

    assert found.problems == []
    assert [job.variant.label for job in found.jobs] == expected


@pytest.mark.parametrize(
    "gates,message", [(["None"], "unable to find featureGate/None"), (["New", "-New"], "no manifest of widgets.example.com")]
)
def test_problems_of_gates(gates: list[str], message: str, tree: Path) -> None:
    """A gate that no file names, or a suite without a manifest, is a problem of the file."""
    _suite(tree, *gates)
    (tree / "example/v1/zz_generated.crd-manifests/custom.yaml").unlink()

    (problem,) = collect([str(tree)]).problems

    assert message in str(problem)


def test_suites_of_a_folder(tree: Path) -> None:
    """Suites end with .testsuite.yaml, or are in tests/<crdName>; vendored and hidden ones are left out."""
    for name in (
        "b.testsuite.yaml",
        "vendor/c.testsuite.yaml",
        ".d/d.testsuite.yaml",
        "example/v1/tests/widgets.example.com/e.yaml",
        "f.yaml",
    ):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("")

    assert [path.name for path in suite_paths(tree)] == ["b.testsuite.yaml", "e.yaml"]
    assert [path.name for path in suite_paths(tree, "")] == ["e.yaml"]
    with pytest.raises(SuiteError, match="no such file"):
        list(suite_paths(tree / "none"))


def test_older_suites_name_a_manifest(tmp_path: Path) -> None:
    """A suite with `crd` is about the only CRD in that file."""
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(crd("widgets")))
    (tmp_path / "two.yaml").write_text(yaml.safe_dump_all([crd("widgets"), crd("others")]))
    for name in ("crd", "two", "none"):
        document = {"crd": f"{name}.yaml", "tests": {"onCreate": [{"name": "a", "initial": ""}]}}
        (tmp_path / f"{name}.testsuite.yaml").write_text(yaml.safe_dump(document))

    found = collect([str(tmp_path)])

    assert [(job.variant.suite.crd_name, job.variant.label) for job in found.jobs] == [("widgets.example.com", "crd.yaml")]
    none, two = map(str, found.problems)
    assert none.endswith("none.yaml: No such file or directory")
    assert two.endswith("two.yaml does not have one CRD but 2: others.example.com, widgets.example.com")


def test_selection_counts_what_is_left_out(tree: Path) -> None:
    """Cases are selected by name and manifest, and with a part of it after the path."""
    _suite(tree)

    assert (collect([str(tree)], parse_selection("preview")).count, collect([str(tree)], parse_selection("preview")).deselected) == (1, 3)
    assert collect([f"{tree}::default.yaml"]).count == 1


def test_manifests_with_equal_schemas_share_a_digest(tree: Path) -> None:
    """The digest does not depend on annotations."""
    _suite(tree)
    folder = tree / "example/v1/zz_generated.crd-manifests"
    text = (folder / "default.yaml").read_text()
    (folder / "preview.yaml").write_text(text.replace("Default,OKD", "TechPreviewNoUpgrade"))

    digests = {job.variant.label: job.variant.digest for job in collect([str(tree)]).jobs}

    assert digests["default.yaml"] == digests["preview.yaml"] != digests["custom.yaml"]


def test_definition_in_a_folder(tree: Path) -> None:
    """A definition is found by its name among those of a file or folder."""
    folder = tree / "example/v1/zz_generated.crd-manifests"
    (folder / "broken.yaml").unlink()

    assert read_definition(folder, "others.example.com")["spec"]["names"]["plural"] == "others"
    with pytest.raises(SuiteError, match="has no CRD none"):
        read_definition(folder, "none")


def test_finds_the_crds_of_an_xrd(tmp_path: Path) -> None:
    """Find the CRD of a claim in the file of its XRD, and say what is wrong with an XRD."""
    path = tmp_path / "xrd.yaml"
    path.write_text(yaml.safe_dump(xrd(xrd_version("v1", "a"), claim=True)))
    suite = {"crdName": "servers.example.com", "crd": "xrd.yaml", "tests": {"onCreate": [{"name": "a", "initial": ""}]}}
    (tmp_path / "a.testsuite.yaml").write_text(yaml.safe_dump(suite))

    assert [job.variant.manifest for job in collect([str(tmp_path)]).jobs] == [path]
    assert read_definition(path, "servers.example.com")["spec"]["names"]["kind"] == "Server"
    path.write_text(yaml.safe_dump(xrd({"name": "v1"})))
    assert "spec.versions[0].referenceable: Required value" in str(collect([str(tmp_path)]).problems[0])
