"""Manifests in files."""

from pathlib import Path

import pytest

from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.manifests import Manifest, ManifestFile, manifests, read_files


def _kinds(text: str) -> list[str]:
    return [
        found if isinstance(found, str) else f"{found.place}: {found.object['kind']}"
        for found in manifests(ManifestFile("f.yaml", text.encode(), is_chosen=False))
    ]


def test_finds_files(tmp_path: Path) -> None:
    """Read the named files whatever their suffix, and of folders the YAML and JSON files that are not hidden."""
    for name in ("b.yaml", "a/c.json", "a/d.yml", "a/.hidden.yaml", ".git/e.yaml", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    found = [(str(Path(file.name).relative_to(tmp_path)), file.is_chosen) for file in read_files([tmp_path, tmp_path / "notes.txt"])]

    assert found == [("b.yaml", False), ("a/c.json", False), ("a/d.yml", False), ("notes.txt", True)]
    with pytest.raises(SourceError, match="missing: No such file or directory"):
        list(read_files([tmp_path / "missing"]))


def test_reads_documents_and_lists() -> None:
    """Read several documents, and the items of lists; items of a typed list need neither apiVersion nor kind."""
    assert _kinds("apiVersion: v1\nkind: A\n---\n---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: B}]") == [
        "f.yaml: document 1: A",
        "f.yaml: document 2: items[0]: B",
    ]
    assert _kinds('{"apiVersion": "g/v1", "kind": "CList", "items": [{}, {"kind": "D"}]}') == ["f.yaml: items[0]: C", "f.yaml: items[1]: D"]


def test_says_what_it_leaves_out() -> None:
    """Yield a remark for what is no manifest; fail if the user named the file, or it has what is wanted."""
    deep = '{"apiVersion": "v1", "kind": "A", "a":' + "[" * 300 + "]" * 300 + "}"
    assert _kinds("a: {{ .Values.x }}")[0].startswith("f.yaml: left out: ")
    assert _kinds("kind: A") == _kinds("[1]") == ["f.yaml: left out: has no apiVersion and kind"]
    assert _kinds(deep) == ["f.yaml: left out: nested deeper than 200 levels"]
    for file, wanted in ((ManifestFile("f.yaml", b"{"), b""), (ManifestFile("f.yaml", b"{ Wanted", is_chosen=False), b"Wanted")):
        with pytest.raises(SourceError, match=r"^f\.yaml: line 1"):
            list(manifests(file, wanted=wanted))
    assert list(manifests(ManifestFile("f.yaml", b"{"), wanted=b"Wanted")) == []
    assert next(iter(manifests(ManifestFile("f", b"apiVersion: v1\nkind: A")))) == Manifest("f", {"apiVersion": "v1", "kind": "A"})
