"""The files of a release that install it: one manifest, and the packed chart."""

import gzip
import io
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from hack.lib.chart.templates import CHART
from hack.lib.manifests import text_of, write_kustomization

MANIFEST: Final = "install.yaml"
_TIME: Final = 315532800
"""The time of all files in the archive, so that the same sources give the same bytes."""


def manifest(version: str, repository: str) -> str:
    """Return the base as one file, with the image of a repository such as OWNER/NAME; with the name `apiext` if that is empty.

    Raises:
        KustomizeError: the base cannot be built.
        ProvideError: kubectl cannot be provided.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        write_kustomization([], place, images=[{"name": "apiext", "newName": image(repository), "newTag": version}])
        return text_of(place)


def image(repository: str) -> str:
    """Return the name of the image that the workflow of a repository pushes."""
    return f"ghcr.io/{repository.lower()}" if repository else "apiext"


def pack_chart(folder: Path, version: str, repository: str) -> Path:
    """Pack the chart with the image and the runbook of a repository as defaults; return the archive."""
    archive = folder / f"apiext-chart-{version}.tgz"
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
            content = path.read_bytes()
            if path == CHART / "values.yaml" and repository:
                content = _with_defaults(content.decode(), version, repository).encode()
            entry = tarfile.TarInfo(f"apiext/{path.relative_to(CHART)}")
            entry.size, entry.mtime, entry.mode = len(content), _TIME, 0o644
            tar.addfile(entry, io.BytesIO(content))
    return archive


def _with_defaults(values: str, version: str, repository: str) -> str:
    runbook = f"https://github.com/{repository}/blob/v{version}/manifests/RUNBOOK.md"
    for setting, default in (("repository: apiext\n", f"repository: {image(repository)}\n"), ('runbookUrl: ""', f"runbookUrl: {runbook}")):
        assert values.count(setting) == 1, setting
        values = values.replace(setting, default)
    return values
