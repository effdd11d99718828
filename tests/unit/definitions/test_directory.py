"""Definitions from the files of a folder."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiext.definitions.sources.crd_documents import FileProblem, definitions
from apiext.definitions.sources.directory import DirectorySource, watch_folder
from apiext.meta.errors import bad_request
from apiext.meta.json_codec import Object
from apiext.storage.backend import UnavailableError
from tests.support.captured_logs import logged
from tests.unit.definitions.recorded import body

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


class Target:
    """Takes what a source applies, or refuses it."""

    def __init__(self) -> None:
        self.applied: list[Object] = []
        self.refusal: Exception | None = None

    async def apply(self, crd: Object) -> None:
        """Take a definition."""
        if self.refusal is not None:
            raise self.refusal
        self.applied.append(crd)

    @property
    def names(self) -> list[str]:
        """Names in the order in which they came."""
        return [crd["metadata"]["name"].partition(".")[0] for crd in self.applied]


@pytest.fixture
def target() -> Target:
    """Where definitions go."""
    return Target()


@pytest.fixture
def source(tmp_path: Path, target: Target) -> DirectorySource:
    """The source of a folder."""
    return DirectorySource(tmp_path, target.apply)


def _problems(data: str | bytes) -> list[str]:
    found = definitions(data.encode() if isinstance(data, str) else data)
    return [str(each) if isinstance(each, FileProblem) else each["metadata"]["name"] for each in found]


def test_a_file_of_several_documents_and_lists() -> None:
    """Documents, lists and JSON are read; other kinds and empty documents are left out."""
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [body(), {"apiVersion": "v1", "kind": "ConfigMap"}]})
    text = f"{YAML.format(plural='bars')}\n---\n---\n# nothing\n---\napiVersion: v1\nkind: Namespace\n---\n{listed}\n"

    assert _problems(text) == ["bars.example.com", "foos.example.com"]
    assert _problems(listed) == ["foos.example.com"]


def test_yaml_times_are_text() -> None:
    """A date in YAML stays the text that it is, as JSON would have it."""
    found = list(definitions(YAML.format(plural="foos").encode()))

    assert not isinstance(found[0], FileProblem)
    assert found[0]["metadata"]["annotations"] == {"since": "2020-01-01"}


@pytest.mark.parametrize(
    "text,problem",
    [
        ("a: b: c", "line 1, column 5: mapping values are not allowed in this context"),
        ("a: [", "line 2, column 1: did not find expected node content"),
        ('{"a":\n 5,', "line 2, column 4: unexpected end of data"),
        ("just text", "it is not an object"),
        ("a: 1", "it has no kind"),
        ("kind: Foo", "it has no apiVersion"),
        ("kind: List\napiVersion: v1", "a List without items"),
        ("a: 1\n---\nkind: Foo", "document 1: it has no kind"),
        (
            "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1",
            "apiVersion is 'apiextensions.k8s.io/v1beta1', and not 'apiextensions.k8s.io/v1'",
        ),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1", "metadata.name is missing"),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nspec: {foo: 1}", 'unknown field "spec.foo"'),
        (
            "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nspec: []",
            "json: cannot unmarshal array into Go struct field CustomResourceDefinition.spec of type v1.CustomResourceDefinitionSpec",
        ),
        ("a: 99999999999999999999999", "it cannot be read as JSON: Integer exceeds 64-bit range"),
        (b"\xff\xfe\xff", "unacceptable"),
        (b"a: \x01", "unacceptable character"),
    ],
)
def test_problems_say_what_is_wrong_and_where(text: str | bytes, problem: str) -> None:
    """Each kind of broken file has its own message."""
    assert problem in _problems(text)[0]


def test_a_document_nested_too_deeply_is_a_problem() -> None:
    """What is nested more deeply than a request may be is refused; at less, what is wrong is said."""
    text = '{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":%s}'

    assert _problems(text % ('{"a":' * 300 + "1" + "}" * 300)) == ['unknown field "spec.a"']
    assert _problems(text % ('{"a":' * 10_000 + "1" + "}" * 10_000)) == ["exceeded max depth"]


async def test_a_folder_is_read_with_the_folders_in_it(source: DirectorySource, target: Target) -> None:
    """Files with the endings of YAML and JSON count, hidden ones and others do not."""
    (source.folder / "sub").mkdir()
    (source.folder / ".hidden").mkdir()
    for path, plural in (("b.yaml", "bs"), ("sub/a.yml", "as"), ("README.md", "cs"), (".hidden/d.yaml", "ds"), (".e.yaml", "es")):
        (source.folder / path).write_text(YAML.format(plural=plural))
    (source.folder / "f.json").write_text(json.dumps(body()))

    await source.load()

    assert target.names == ["bs", "foos", "as"]
    assert source.names == ["as.example.com", "bs.example.com", "foos.example.com"]
    assert source.problems == []


async def test_only_what_has_changed_is_applied_again(source: DirectorySource, target: Target) -> None:
    """A file that was only touched, or whose text says the same, is not applied a second time."""
    path = source.folder / "a.yaml"
    path.write_text(YAML.format(plural="as"))
    await source.load()
    await source.load()
    path.write_text(YAML.format(plural="as") + "# a remark\n")
    await source.load()
    path.write_text(YAML.format(plural="as") + "---\n" + YAML.format(plural="bs"))
    await source.load()

    assert target.names == ["as", "bs"]


async def test_a_broken_file_is_reported_and_the_rest_applied(
    source: DirectorySource, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    """Its name and the error are in the log and in the problems, until it is mended."""
    (source.folder / "a.yaml").write_text("a: b: c")
    (source.folder / "b.yaml").write_text(YAML.format(plural="bs"))

    await source.load()
    problems = source.problems
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    await source.load()

    assert problems == ["a.yaml: line 1, column 5: mapping values are not allowed in this context"]
    assert [(line["file"], line["problem"]) for line in logged(caplog)] == [("a.yaml", problems[0].removeprefix("a.yaml: "))]
    assert target.names == ["bs", "as"]
    assert source.problems == []


async def test_a_refused_definition_is_reported_with_the_servers_words(source: DirectorySource, target: Target) -> None:
    """What the server says about a definition is the file's problem."""
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    target.refusal = bad_request("no, thanks")

    await source.load()

    assert source.problems == ["a.yaml: no, thanks"]


async def test_a_store_that_does_not_answer_is_asked_again(source: DirectorySource, target: Target) -> None:
    """A failure that is not the file's fault is tried again, although the file has not changed."""
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    target.refusal = UnavailableError("no answer")
    await source.load()
    problems = source.problems
    target.refusal = None

    await source.load()

    assert problems == ["a.yaml: as.example.com cannot be stored: no answer"]
    assert target.names == ["as"]
    assert source.problems == []


async def test_a_definition_in_two_files_is_a_problem_of_the_second(source: DirectorySource, target: Target) -> None:
    """The first file in order wins, and the second is reported."""
    for name in ("b.yaml", "a.yaml"):
        (source.folder / name).write_text(YAML.format(plural="as"))

    await source.load()

    assert target.names == ["as"]
    assert source.problems == ["b.yaml: as.example.com is defined in a.yaml already"]


async def test_a_definition_may_move_to_another_file(source: DirectorySource, target: Target) -> None:
    """A file that was renamed says nothing new."""
    (source.folder / "b.yaml").write_text(YAML.format(plural="as"))
    await source.load()
    (source.folder / "b.yaml").rename(source.folder / "c.yaml")
    await source.load()

    assert target.names == ["as"]
    assert source.problems == []


async def test_a_removed_file_takes_nothing_with_it(source: DirectorySource, caplog: pytest.LogCaptureFixture) -> None:
    """The log says that the definitions stay."""
    caplog.set_level(logging.INFO)
    (source.folder / "a.yaml").write_text(YAML.format(plural="as"))
    await source.load()
    (source.folder / "a.yaml").unlink()

    await source.load()

    assert logged(caplog)[-1] == {"event": "a file is gone; what it defined stays", "file": "a.yaml", "definitions": "as.example.com"}
    assert source.names == []


async def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, target: Target) -> None:
    """Nothing to follow is an error of the command line, not an empty folder."""
    with pytest.raises(NotADirectoryError):
        await DirectorySource(tmp_path / "none", target.apply).load()


async def test_changes_are_followed(tmp_path: Path, target: Target) -> None:
    """Whenever the folder is said to have changed it is read again; a failure in between ends nothing."""
    told: asyncio.Queue[bool] = asyncio.Queue()
    seen = asyncio.Event()

    async def changes(_folder: Path) -> AsyncIterator[bool]:
        while True:
            yield await told.get()

    async def apply(crd: Object) -> None:
        await target.apply(crd)
        seen.set()

    source = DirectorySource(tmp_path, apply, changes=changes)
    await source.start()
    (tmp_path / "a.yaml").write_text(YAML.format(plural="as"))
    told.put_nowait(True)
    async with asyncio.timeout(30):
        await seen.wait()
    await source.close()
    await source.close()

    assert target.names == ["as"]


async def test_the_system_tells_of_changes(tmp_path: Path) -> None:
    """A new file in a followed folder is noticed."""
    changes = watch_folder(tmp_path)
    assert await anext(changes)
    (tmp_path / "a.yaml").write_text("a: 1")

    async with asyncio.timeout(30):
        assert await anext(changes)
    await changes.aclose()
