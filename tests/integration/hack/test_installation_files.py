"""The files of a release that install it."""

import tarfile
from pathlib import Path
from typing import Final

import pytest
import yaml

from apiext import __version__
from hack.lib import installation
from hack.lib.chart.templates import CHART
from hack.lib.manifests import built, containers

REPOSITORY: Final = "Own/apiext"


def test_the_manifest_is_the_base() -> None:
    """Have the objects of the base in one file, with the image of the repository."""
    found = list(yaml.safe_load_all(installation.manifest(__version__, REPOSITORY)))
    images, usual = ({container["image"] for one in documents for container in containers(one)} for documents in (found, built()))

    assert images == {f"ghcr.io/own/apiext:{__version__}"} | usual - {f"apiext:{__version__}"}
    assert [(one["kind"], one["metadata"]) for one in found] == [(one["kind"], one["metadata"]) for one in built()]


@pytest.mark.parametrize("repository", ["", REPOSITORY])
def test_the_archive_is_the_chart(repository: str, tmp_path: Path) -> None:
    """Pack all files of the chart, to the same bytes each time; only image and runbook are those of the repository."""
    first, second = (tmp_path / name for name in ("first", "second"))
    for folder in (first, second):
        folder.mkdir()
    archive = installation.pack_chart(first, __version__, repository)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    found = {str(path.relative_to(tmp_path / "unpacked" / "apiext")): path.read_text() for path in (tmp_path / "unpacked").rglob("*.*")}
    chart = {str(path.relative_to(CHART)): path.read_text() for path in CHART.rglob("*.*")}
    values, usual = (yaml.safe_load(files.pop("values.yaml")) for files in (found, chart))

    assert found == chart
    if repository:
        usual["image"]["repository"] = "ghcr.io/own/apiext"
        usual["monitoring"]["runbookUrl"] = f"https://github.com/{REPOSITORY}/blob/v{__version__}/manifests/RUNBOOK.md"
    assert values == usual
    assert archive.read_bytes() == installation.pack_chart(second, __version__, repository).read_bytes()
