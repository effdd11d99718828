"""The command behind hack/site."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from hack.lib import environments
from hack.lib.environments import ROOT

SETTINGS: Final = Path(__file__).parent
LOCK: Final = ROOT / "hack" / "requirements-site.lock"
_INDEX: Final = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=README.html"><title>apiext</title>\n'


class SiteError(Exception):
    """A page or a link is wrong; the message has Sphinx's warnings."""


def build(target: Path, *, sources: Path = ROOT, builder: str = "html") -> None:
    """Build the site of the documents below a folder; each of Sphinx's warnings is an error.

    Raises:
        SiteError: A page or a link is wrong.
        InstallationError: Sphinx cannot be installed.
    """
    python = environments.of_lock("site", LOCK)
    with tempfile.TemporaryDirectory(prefix="apiext-site-") as kept:
        command = [str(python), "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-n", "-b", builder]
        command += ["-c", str(SETTINGS), "-d", kept, str(sources), str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SiteError((done.stderr or done.stdout).replace(f"{sources}/", "").strip())
    if builder == "html":
        (target / "index.html").write_text(_INDEX)


def main() -> None:
    """Build the site, and check links to other servers if asked to."""
    parser = argparse.ArgumentParser(prog="hack/site", description="Builds the documentation site, and checks its links.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--external", action="store_true", help="ask other servers whether the linked pages are there")
    options = parser.parse_args()
    try:
        build(options.folder)
        if options.external:
            with tempfile.TemporaryDirectory(prefix="apiext-links-") as report:
                build(Path(report), builder="linkcheck")
    except (SiteError, environments.InstallationError) as error:
        sys.exit(f"hack/site: {error}")


if __name__ == "__main__":
    main()
