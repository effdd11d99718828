"""The files of a release: the same bytes each time, complete, and of use in a clean environment."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from hack.lib import environments, installation, release

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
VERSION: Final = release.version()
PACKED: Final = {f"apiext-{VERSION}.tar.gz", f"apiext-{VERSION}-py3-none-any.whl", f"apiext-chart-{VERSION}.tgz"}
FILES: Final = PACKED | {installation.MANIFEST, release.SBOM, release.SUMS}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a release, as a tag does but for the notes."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    try:
        release.build(folder, None)
    except environments.InstallationError as error:
        pytest.skip(f"the tools are not there: {error}")
    return folder


def test_builds_the_same_bytes_again(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build packages and the document of the image to the same bytes, at another time and in another place."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")

    release.build(tmp_path / "again", None)

    assert {path.name for path in built.iterdir()} == FILES
    assert {name: (built / name).read_bytes() for name in FILES} == {name: (tmp_path / "again" / name).read_bytes() for name in FILES}


def test_serves_from_the_wheel(built: Path) -> None:
    """Install the wheel beside the packages of the image only, and serve from it."""
    release.check(built)


def test_notices_a_changed_file(built: Path, tmp_path: Path) -> None:
    """Refuse files that do not have their checksums."""
    for path in built.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / release.SBOM).write_text(json.dumps({}))

    with pytest.raises(release.ReleaseError, match=re.escape(f"{tmp_path / release.SUMS} does not agree")):
        release.check(tmp_path)


def test_refuses_a_folder_in_use(built: Path) -> None:
    """Leave a folder with content unchanged."""
    with pytest.raises(release.ReleaseError, match="is not empty"):
        release.build(built, None)
