"""Definitions from the files of a folder."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiext.base.meta.encoding.documents import FileProblem
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import bad_request
from apiext.resources.conversion.known import KnownConversions
from apiext.resources.definitions.sources import directory
from apiext.resources.definitions.sources.conversion_files import ConversionFiles
from apiext.resources.definitions.sources.crd_documents import definitions
from apiext.resources.definitions.sources.directory import DirectorySource, watch_folder
from apiext.storage.backend import UnavailableError
from tests.support.builders.composites import xrd, xrd_version
from tests.support.captured_logs import logged
from tests.unit.resources.definitions.recorded import body

YAML = """
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata:
  name: {plural}.example.com
  annotations: {{since: 2020-01-01}}
spec:
  group: example.com
  scope: Namespaced
  names: {{plural: {plural}, kind: Foo}}
  versions:
  - name: v1
    served: yes
    storage: true
    schema: {{openAPIV3Schema: {{type: object}}}}
"""


class FakeWriter:
    """Records the definitions that a source applies, and rejects some."""

    def __init__(self) -> None:
        self.applied: list[Object] = []
        self.refusal: Exception | None = None

    async def apply(self, crd: Object) -> None:
        """Record a definition."""
        if self.refusal is not None:
            raise self.refusal
        self.applied.append(crd)

    @property
    def names(self) -> list[str]:
        """Return the names of applied definitions in order."""
        return [crd["metadata"]["name"].partition(".")[0] for crd in self.applied]


@pytest.fixture
def writer() -> FakeWriter:
    """Return the writer of the source."""
    return FakeWriter()


@pytest.fixture
def source(tmp_path: Path, writer: FakeWriter) -> DirectorySource:
    """Return the source of a folder."""
    return DirectorySource(tmp_path, writer.apply, ConversionFiles(KnownConversions()))


def _problems(data: str | bytes) -> list[str]:
    found = definitions(data.encode() if isinstance(data, str) else data)
    return [str(each) if isinstance(each, FileProblem) else each["metadata"]["name"] for each in found]


def test_reads_several_documents_and_lists() -> None:
    """Read several documents, lists and JSON; skip other kinds and empty documents."""
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [body(), {"apiVersion": "v1", "kind": "ConfigMap"}]})
    text = f"{YAML.format(plural='bars')}\n---\n---\n# nothing\n---\napiVersion: v1\nkind: Namespace\n---\n{listed}\n"

    assert _problems(text) == ["bars.example.com", "foos.example.com"]
    assert _problems(listed) == ["foos.example.com"]


def test_reads_composite_definitions() -> None:
    """Read the CRDs that Crossplane makes of an XRD, which no XRD owns here."""
    given = json.dumps(xrd(xrd_version("v1", "a"), claim=True)).encode()
    found = [crd for crd in definitions(given) if not isinstance(crd, FileProblem)]

    assert [crd["metadata"]["name"] for crd in found] == ["xservers.example.com", "servers.example.com"]
    assert not any("ownerReferences" in crd["metadata"] for crd in found)


def test_reads_yaml_timestamps_as_strings() -> None:
    """Read a YAML timestamp as a string, since JSON has no timestamps."""
    found = list(definitions(YAML.format(plural="foos").encode()))

    assert not isinstance(found[0], FileProblem)
    assert found[0]["metadata"]["annotations"] == {"since": "2020-01-01"}


@pytest.mark.parametrize(
    "text,problem",
    [
        ("a: b: c", "line 1, column 5: mapping values are not allowed in this context"),
        ("a: [", "line 2, column 1: did not find expected node content"),
        ('{"a":\n 5,', "line 2, column 4: unexpected end of data"),
        ("just text", "is not an object"),
        ("a: 1", "has no kind"),
        ("kind: Foo", "has no apiVersion"),
        ("kind: List\napiVersion: v1", "List has no items"),
        ("a: 1\n---\nkind: Foo", "document 1: has no kind"),
        (
            "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1",
            "apiVersion is 'apiextensions.k8s.io/v1beta1', expected 'apiextensions.k8s.io/v1'",
        ),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1", "metadata.name is missing"),
        (json.dumps(xrd({"name": "v1"})), "spec.versions[0].referenceable: Required value"),
        (json.dumps({**xrd(), "metadata": {}}), "metadata.name is missing"),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nspec: {foo: 1}", 'unknown field "spec.foo"'),
        (
            "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nspec: []",
            "json: cannot unmarshal array into Go struct field CustomResourceDefinition.spec of type v1.CustomResourceDefinitionSpec",
        ),
        ("a: 99999999999999999999999", "cannot be converted to JSON: Integer exceeds 64-bit range"),
        (b"\xff\xfe\xff", "unacceptable"),
        (b"a: \x01", "unacceptable character"),
    ],
)
def test_reports_problems(text: str | bytes, problem: str) -> None:
    """Report what is wrong with each kind of broken file, and where."""
    assert problem in _problems(text)[0]


def test_rejects_deep_nesting() -> None:
    """Reject a document nested deeper than the limit; below it, report what is wrong with it."""
    text = '{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":%s}'

    assert _problems(text % ('{"a":' * 190 + "1" + "}" * 190)) == ['unknown field "spec.a"']
    assert _problems(text % ('{"a":' * 300 + "1" + "}" * 300)) == ["nested deeper than 200 levels"]


async def test_reads_subfolders(source: DirectorySource, writer: FakeWriter) -> None:
    """Read YAML and JSON files in all subfolders; ignore hidden and other files."""
    (source.folder / "sub").mkdir()
    (source.folder / ".hidden").mkdir()
    for path, plural in (("b.yaml", "bs"), ("sub/a.yml", "as"), ("README.md", "cs"), (".hidden/d.yaml", "ds"), (".e.yaml", "es")):
        (source.folder / path).write_text(YAML.format(plural=plural))
    (source.folder / "f.json").write_text(json.dumps(body()))

    await source.load()

    assert writer.names == ["bs", "foos", "as"]
    assert source.names == ["as.example.com", "bs.example.com", "foos.example.com"]
    assert source.problems == []


async def test_applies_changed_files_only(source: DirectorySource, writer: FakeWriter) -> None:
    """Do not apply a file again that was only touched, or whose definitions are equal."""
    path = source.folder / "a.yaml"
    path.write_text(YAML.format(plural="as"))
    await source.load()
    await source.load()
    path.write_text(YAML.format(plural="as") + "# a remark\n")
    await source.load()
    path.write_text(YAML.format(plural="as") + "---\n" + YAML.format(plural="bs"))
    await source.load()

    assert writer.names == ["as", "bs"]


async def test_applies_other_files_besides_a_broken_one(
    source: DirectorySource, writer: FakeWriter, caplog: pytest.LogCaptureFixture
) -> None:
    """Report a broken file in the log and in the problems until it is fixed, and apply the others."""
    (source.folder / "a.yaml").write_text("a: b: c")
    (source.folder / "b.yaml").write_text(YAML.format(plural="bs"))

    await source.load()
    problems = source.problems
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    await source.load()

    assert problems == ["a.yaml: line 1, column 5: mapping values are not allowed in this context"]
    assert [(line["file"], line["problem"]) for line in logged(caplog)] == [("a.yaml", problems[0].removeprefix("a.yaml: "))]
    assert writer.names == ["bs", "as"]
    assert source.problems == []


async def test_reports_rejected_definitions(source: DirectorySource, writer: FakeWriter) -> None:
    """Report the server's message about a rejected definition."""
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    writer.refusal = bad_request("no, thanks")

    await source.load()

    assert source.problems == ["a.yaml: no, thanks"]


async def test_retries_after_storage_failures(source: DirectorySource, writer: FakeWriter) -> None:
    """Apply an unchanged file again after a failure of the store."""
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    writer.refusal = UnavailableError("no answer")
    await source.load()
    problems = source.problems
    writer.refusal = None

    await source.load()

    assert problems == ["a.yaml: as.example.com cannot be stored: no answer"]
    assert writer.names == ["as"]
    assert source.problems == []


async def test_reports_a_definition_in_two_files(source: DirectorySource, writer: FakeWriter) -> None:
    """Apply the definition of the first file, and report the second file."""
    for name in ("b.yaml", "a.yaml"):
        (source.folder / name).write_text(YAML.format(plural="as"))

    await source.load()

    assert writer.names == ["as"]
    assert source.problems == ["b.yaml: as.example.com is already defined in a.yaml"]


async def test_accepts_renamed_files(source: DirectorySource, writer: FakeWriter) -> None:
    """Do not apply a definition again when its file is renamed."""
    (source.folder / "b.yaml").write_text(YAML.format(plural="as"))
    await source.load()
    (source.folder / "b.yaml").rename(source.folder / "c.yaml")
    await source.load()

    assert writer.names == ["as"]
    assert source.problems == []


async def test_keeps_definitions_of_removed_files(source: DirectorySource, caplog: pytest.LogCaptureFixture) -> None:
    """Log that the definitions of a removed file are kept."""
    caplog.set_level(logging.INFO)
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    await source.load()
    (source.folder / "a.yaml").unlink()

    await source.load()

    assert logged(caplog)[-1] == {
        "event": "definition file removed, its definitions are kept",
        "file": "a.yaml",
        "definitions": "as.example.com",
    }
    assert source.names == []


async def test_rejects_a_missing_folder(tmp_path: Path, writer: FakeWriter) -> None:
    """Raise an OSError for a missing folder."""
    with pytest.raises(NotADirectoryError):
        await DirectorySource(tmp_path / "none", writer.apply, ConversionFiles(KnownConversions())).load()


async def test_applies_changes(tmp_path: Path, writer: FakeWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the folder again with each change, also after a failure."""
    events: asyncio.Queue[bool] = asyncio.Queue()
    seen = asyncio.Event()

    async def changes(_folder: Path) -> AsyncIterator[bool]:
        while True:
            yield await events.get()

    async def apply(crd: Object) -> None:
        await writer.apply(crd)
        seen.set()

    monkeypatch.setattr(directory, "watch_folder", changes)
    source = DirectorySource(tmp_path, apply, ConversionFiles(KnownConversions()))
    await source.start()
    (tmp_path / "a.yaml").write_text(YAML.format(plural="as"))
    events.put_nowait(True)
    async with asyncio.timeout(30):
        await seen.wait()
    await source.close()
    await source.close()

    assert writer.names == ["as"]


async def test_watches_the_folder(tmp_path: Path) -> None:
    """Notice a new file in a watched folder."""
    changes = watch_folder(tmp_path)
    assert await anext(changes)
    (tmp_path / "a.yaml").write_text("a: 1")

    async with asyncio.timeout(30):
        assert await anext(changes)
    await changes.aclose()


def _conversion(name: str = "foos.example.com", path: str = "spec.a") -> str:
    spokes = [{"version": "v1", "rules": [{"rename": {"path": path, "to": "b"}}]}]
    document = {"apiVersion": "conversions.apiext.dev/v1alpha1", "kind": "Conversion", "metadata": {"name": name}}
    return json.dumps(document | {"spec": {"hub": "v2", "spokes": spokes}})


async def test_conversions_beside_definitions(tmp_path: Path, writer: FakeWriter) -> None:
    """Keep the Conversions of files as long as the files, name invalid and repeated ones, and apply definitions beside them."""
    known = KnownConversions()
    source = DirectorySource(tmp_path, writer.apply, ConversionFiles(known))
    (tmp_path / "a.yaml").write_text("---".join([_conversion() + "\n", YAML.format(plural="foos")]))
    (tmp_path / "b.yaml").write_text(_conversion() + "\n---\n" + _conversion("bars.example.com", "spec["))
    (tmp_path / "c.json").write_text(_conversion().replace("foos.example.com", ""))
    await source.load()
    names, problems = [one.name for one in known], source.problems
    (tmp_path / "a.yaml").unlink()
    (tmp_path / "b.yaml").write_text(_conversion("bars.example.com"))
    await source.load()

    assert writer.names == ["foos"]
    assert names == ["bars.example.com", "foos.example.com"]
    assert problems[0] == "b.yaml: Conversion foos.example.com: is already defined in a.yaml"
    assert problems[1].startswith("b.yaml: Conversion bars.example.com: spec.spokes[0].rules[0].rename.path: Invalid value")
    assert problems[2:] == ["c.json: metadata.name is missing"]
    assert [one.name for one in known] == ["bars.example.com"]
    assert source.problems == ["c.json: metadata.name is missing"]


@pytest.mark.parametrize("broken", [_conversion()[:-1], _conversion().replace("foos.example.com", "")], ids=["no JSON", "no name"])
async def test_conversions_of_a_broken_file(tmp_path: Path, writer: FakeWriter, broken: str) -> None:
    """Keep the Conversions of a file while it cannot be parsed, and take those that can be: objects would lose fields without them."""
    known = KnownConversions()
    source = DirectorySource(tmp_path, writer.apply, ConversionFiles(known))
    (tmp_path / "a.json").write_text(_conversion())
    await source.load()
    (tmp_path / "a.json").write_text(broken)
    await source.load()
    kept, problems = [one.name for one in known], source.problems
    (tmp_path / "a.json").write_text(_conversion("bars.example.com"))
    await source.load()

    assert (kept, known.unread) == (["foos.example.com"], "")
    assert len(problems) == 1
    assert [one.name for one in known] == ["bars.example.com"]


async def test_a_broken_document_beside_conversions(tmp_path: Path, writer: FakeWriter) -> None:
    """Take the changed Conversions of a file beside a broken document, and keep the others."""
    known = KnownConversions()
    source = DirectorySource(tmp_path, writer.apply, ConversionFiles(known))
    (tmp_path / "a.yaml").write_text(f"{_conversion()}\n---\n{_conversion('bars.example.com')}\n")
    await source.load()
    (tmp_path / "a.yaml").write_text(f"{_conversion(path='spec.c')}\n---\n{_conversion('')}\n")
    await source.load()

    assert {one.name: one.document["spec"]["spokes"][0]["rules"][0]["rename"]["path"] for one in known} == {
        "bars.example.com": "spec.a",
        "foos.example.com": "spec.c",
    }


async def test_an_unread_file_at_the_start(tmp_path: Path, writer: FakeWriter) -> None:
    """Name the file whose Conversions are not known, for CRDs whose rules were in use, until it can be parsed or is gone."""
    known = KnownConversions()
    known.in_use.resume({"foos.example.com": "digest", "bars.example.com": "digest"})
    source = DirectorySource(tmp_path, writer.apply, ConversionFiles(known))
    file = tmp_path / "a.yaml"
    found = []
    for text in (
        _conversion() + "\n---\n{",
        _conversion("bars.example.com") + "\n---\n{}",
        f"{_conversion()}\n---\n[]",
        _conversion(),
        "{",
    ):
        file.write_text(text)
        await source.load()
        found.append([bool(known.lacks(f"{plural}.example.com")) for plural in ("foos", "bars", "others")])
    file.unlink()
    (tmp_path / "b.yaml").write_text("{")
    await source.load()
    lacks = known.lacks("bars.example.com")
    (tmp_path / "b.yaml").unlink()
    await source.load()

    assert found == [[True, True, False], [True, False, False], [False, False, False], [False, False, False], [False, False, False]]
    assert lacks == "conversion rules may be in a file that cannot be read: b.yaml"
    assert known.unread == ""
