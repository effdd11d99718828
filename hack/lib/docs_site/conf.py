"""Sphinx's settings of the documentation site. The pages are the documents where they lie; what joins them is added while they are read."""

import re
from pathlib import Path
from typing import Any, Final

project = "apiext"
author = "the authors of apiext"
extensions = ["myst_parser", "sphinxcontrib.mermaid"]
root_doc = "README"
include_patterns = [
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "crds/*.md", "crds/stories/*.md", "manifests/*.md"),
    *("apiext/README.md", "apiext/*/README.md", "apiext/base/scheduling/README.md", "hack/README.md", "hack/decisions/*.md"),
]
exclude_patterns = ["**/.*", "**/__pycache__", "tests", "hack/lib", "site"]
html_theme = "furo"
html_title = "apiext"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
linkcheck_ignore = [r"https?://(127\.0\.0\.1|localhost|[\w.-]*example\.(com|org))"]

_CONTENTS: Final = {
    "README": {
        "CRD authors": "/crds/README /crds/in-ci /crds/stories/README",
        "Operators": "/manifests/README /manifests/RUNBOOK /manifests/DIFFERENCES /SECURITY",
        "Releases": "/CHANGELOG /manifests/STABILITY",
        "Developers": "/CONTRIBUTING /apiext/README /hack/README /hack/decisions/README",
    },
    "apiext/README": {"": "*/README base/scheduling/README"},
    "hack/decisions/README": {"": "*"},
}
"""The pages below a page, in groups with their titles."""
_FOLDER: Final = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)#\s]*/)\)")


def _lead_to_pages(app: Any, page: str, source: list[str]) -> None:
    """Make links to folders lead to their READMEs; a folder without one becomes text. A link to no folder stays, and is reported."""

    def lead(found: re.Match[str]) -> str:
        folder = Path(app.srcdir, page).parent / found[2]
        if (folder / "README.md").is_file():
            return f"[{found[1]}]({found[2]}README.md)"
        return found[1] if folder.is_dir() else found[0]

    source[0] = _FOLDER.sub(lead, source[0])


def _add_contents(_app: Any, page: str, source: list[str]) -> None:
    """Append to a page the lists of the pages below it, which the sidebar shows."""
    for title, pages in _CONTENTS.get(page, {}).items():
        caption = f":caption: {title}\n" if title else ""
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n{caption}\n{pages.replace(' ', chr(10))}\n```\n"


def setup(app: Any) -> None:
    """Connect the functions above to the pages as they are read."""
    app.connect("source-read", _lead_to_pages)
    app.connect("source-read", _add_contents)
