"""The version of a release: its notes, its date, and the places that name it."""

import re
from pathlib import Path
from typing import Final

import pytest

import apiext
from hack.lib import release

ROOT: Final = Path(__file__).resolve().parents[3]
TEXT: Final = """\
# Changelog

## [0.2.0] - unreleased

- new

## [0.1.0] - 2026-12-01

### Added

- first

## [0.0.1] - 2026-11-01

- old
"""


def test_notes_are_the_section() -> None:
    """Return the section of the version without its title and those of others."""
    assert release.notes(TEXT, "0.1.0") == "### Added\n\n- first\n"


@pytest.mark.parametrize("version,reason", [("0.2.0", "has no date"), ("0.3.0", "no section for")])
def test_a_release_needs_a_dated_section(version: str, reason: str) -> None:
    """Refuse a version that the changelog lacks, or that has no date."""
    with pytest.raises(release.ReleaseError, match=reason):
        release.notes(TEXT, version)


def test_gives_a_date() -> None:
    """Write the date of the release, once."""
    text = release.dated(TEXT, "0.2.0", "2027-01-31")

    assert release.notes(text, "0.2.0") == "- new\n"
    with pytest.raises(release.ReleaseError, match="has no line"):
        release.dated(text, "0.2.0", "2027-01-31")


@pytest.mark.parametrize("tag", ["0.1.0", "v9.9.9"])
def test_the_tag_is_that_of_the_version(tag: str, tmp_path: Path) -> None:
    """Refuse a tag of another version."""
    with pytest.raises(release.ReleaseError, match=f"the tag {tag} is not that of version"):
        release.build(tmp_path / "dist", tag)


def test_the_changelog_begins_with_this_version() -> None:
    """Collect the changes since the last release below the version of the checkout, until hack/release gives it a date."""
    first = re.search(r"^## \[(.*?)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert first is not None
    assert first[1] == release.version()
    assert re.fullmatch(r"unreleased|\d{4}-\d\d-\d\d", first[2])


def test_one_version_everywhere() -> None:
    """Name one version in the package, the manifests, the chart, the documents and the image."""
    manifests = ROOT / "manifests"
    documents = [*manifests.glob("*.md"), *(ROOT / "crds").glob("*.md")]
    files = [*manifests.rglob("kustomization.yaml"), manifests / "chart" / "Chart.yaml", *documents, manifests / "Containerfile"]
    texts = "\n".join(path.read_text() for path in files)
    keys = r"newTag: |app\.kubernetes\.io/version: |^version: |^appVersion: |apiext:|apiext==|apiext@v|rev: v"
    named = re.findall(rf"(?:{keys})(\d+\.\d+\.\d+)", texts, re.MULTILINE)

    assert apiext.__version__ == release.version()
    assert set(named) == {release.version()}
