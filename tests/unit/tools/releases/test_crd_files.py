"""The release of definitions in files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiext.resources.conversion.rules.definition import conversion_definition
from apiext.tools.releases.conversions import with_conversions
from apiext.tools.releases.crd_files import release_of_files, release_of_paths
from apiext.tools.releases.interface import Release, SourceError
from apiext.tools.releases.manifest_source import ManifestSource
from apiext.tools.releases.manifests import ManifestFile
from tests.support.builders.composites import xrd, xrd_version
from tests.support.builders.converted_widgets import conversion
from tests.support.builders.crds import crd


async def _release(**files: Any) -> Release:
    contents = {name: content if isinstance(content, str) else json.dumps(content) for name, content in files.items()}
    return await release_of_files("here", [ManifestFile(name, text.encode(), is_chosen=False) for name, text in contents.items()])


async def test_reads_definitions(tmp_path: Path) -> None:
    """Read the definitions of files among other objects, by name."""
    (tmp_path / "a.yaml").write_text(yaml.dump_all([crd("widgets"), {"apiVersion": "v1", "kind": "Namespace"}]))
    (tmp_path / "b.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [crd("gadgets", kind="Gadget")]}))
    release = await release_of_paths([tmp_path])

    assert (release.origin, list(release.definitions)) == (str(tmp_path), ["gadgets.example.com", "widgets.example.com"])
    assert not release.remarks


async def test_leaves_out_patches_and_unknown_fields() -> None:
    """Leave out a patch beside the definition, whatever their order, and unknown fields, with a remark."""
    patch = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"}}
    release = await _release(patch=patch, full=crd("widgets", scopes="x"))

    assert list(release.definitions) == ["widgets.example.com"]
    assert release.remarks == [
        'full: unknown field "spec.scopes"',
        "patch: left out: a patch of widgets.example.com, which has no versions",
    ]
    assert list((await _release(patch=patch)).refused) == ["widgets.example.com"]


async def test_equal_copies_are_one() -> None:
    """Accept two equal definitions of a name, as in a bundle beside its parts."""
    assert list((await _release(a=crd(), b=crd())).definitions) == ["widgets.example.com"]


@pytest.mark.parametrize(
    "content,problem",
    [
        (crd("widgets") | {"apiVersion": "apiextensions.k8s.io/v1beta1"}, "b: apiVersion is 'apiextensions.k8s.io/v1beta1', expected"),
        (crd("widgets") | {"metadata": {}}, "b: metadata.name is missing"),
        (crd("widgets", scope=3), "b: json: cannot unmarshal number"),
        ("kind: CustomResourceDefinition\n  x: {{ }}", "b: line 2, column 4"),
        (crd("widgets", scope="Cluster"), "b: widgets.example.com is already defined in a"),
    ],
)
async def test_refuses_invalid_files(content: Any, problem: str) -> None:
    """Name the file that cannot be read, and why."""
    with pytest.raises(SourceError) as error:
        await _release(a=crd(), b=content)

    assert str(error.value).startswith(problem)


async def test_reads_conversions(tmp_path: Path) -> None:
    """Read the Conversions of files, which need not have definitions; those that a source stores, if it has their definition."""
    (tmp_path / "rules.json").write_text(json.dumps(conversion()))
    (tmp_path / "a.json").write_text(json.dumps(crd("widgets")))
    release = await release_of_paths([tmp_path])
    source = ManifestSource([tmp_path])
    (tmp_path / "definition.json").write_text(json.dumps(conversion_definition()))
    stored = await with_conversions(source, replace(release, conversions={}))
    await source.close()

    assert list(release.definitions) == ["widgets.example.com"]
    assert release.conversions == {"widgets.example.com": conversion()}
    assert stored.conversions["widgets.example.com"]["spec"] == conversion()["spec"]


async def test_reads_composite_definitions() -> None:
    """Read the CRDs that Crossplane makes of XRDs, with a remark about what it leaves out."""
    found = xrd(xrd_version("v1", "a"), claim=True)
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["anyOf"] = [{"required": ["a"]}]
    release = await _release(a=found, patch=found | {"spec": {"group": "example.com"}})

    assert list(release.definitions) == ["servers.example.com", "xservers.example.com"]
    assert not release.refused
    assert release.remarks == [
        "a: Crossplane leaves out version v1: spec.anyOf",
        "patch: left out: a patch of xservers.example.com, which has no versions",
    ]
    with pytest.raises(SourceError, match=r"^a: spec\.versions\[0\]\.referenceable: Required value"):
        await _release(a=xrd({"name": "v1"}))
    with pytest.raises(SourceError, match=r"^a: spec\.versions: Required value$"):
        await _release(a={**found, "spec": {name: value for name, value in found["spec"].items() if name != "versions"}})
