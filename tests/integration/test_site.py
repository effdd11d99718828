"""The documentation site."""

from pathlib import Path
from typing import Final

import pytest

from hack.lib import environments
from hack.lib.docs_site.__main__ import SiteError, build

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PAGES: Final = ("README", "CHANGELOG", "crds/README", "crds/in-ci", "manifests/RUNBOOK", "apiext/api/README", "hack/decisions/cel")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of the repository."""
    target = tmp_path_factory.mktemp("site")
    try:
        build(target)
    except environments.InstallationError as error:
        pytest.skip(f"Sphinx is not there: {error}")
    return target


def test_has_a_page_for_each_document(site: Path) -> None:
    """Make pages of the documents where they lie, without a warning, and begin with the README."""
    assert [name for name in PAGES if not (site / f"{name}.html").exists()] == []
    assert "url=README.html" in (site / "index.html").read_text()
    assert "furo" in (site / "README.html").read_text()


def test_links_pages_and_pictures(site: Path) -> None:
    """Lead from page to page, to headings, and to what is no page."""
    text = (site / "README.html").read_text()

    assert 'href="crds/README.html#test-with-pytest"' in text
    assert (site / "_images" / "version-map.png").exists()
    assert 'href="hack/decisions/README.html"' in (site / "CONTRIBUTING.html").read_text()


@pytest.mark.parametrize("link", ["missing.md", "README.md#no-such-title", "no/folder/"])
@pytest.mark.usefixtures("site")
def test_refuses_a_dead_link(link: str, tmp_path: Path) -> None:
    """Fail for a link to a file, a heading or a folder that does not exist."""
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "README.md").write_text(f"# Title\n\n[text]({link})\n")

    with pytest.raises(SiteError, match=r"README\.md:3"):
        build(tmp_path / "site", sources=sources)
