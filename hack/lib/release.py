"""The command behind hack/release."""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hack.lib import environments, installation
from hack.lib.environments import ROOT
from hack.lib.reference.binaries import ProvideError
from hack.lib.sbom import sbom

CHANGELOG: Final = ROOT / "CHANGELOG.md"
SUMS: Final = "SHA256SUMS"
NOTES: Final = "NOTES.md"
SBOM: Final = "apiext.cdx.json"
_SECTION: Final = re.compile(r"^## \[(?P<version>[^\]]+)\] - (?P<date>\S+)\n(?P<text>.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_UNDATED: Final = "unreleased"


class ReleaseError(Exception):
    """The release is not complete, or its files are not what they should be; the message is one line with the reason."""


def version() -> str:
    """Return the version of the checkout."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def notes(text: str, of: str) -> str:
    """Return the section of a version in the text of the changelog, without its title.

    Raises:
        ReleaseError: There is no such section, or it has no date.
    """
    for found in _SECTION.finditer(text):
        if found["version"] == of:
            if not _DATE.fullmatch(found["date"]):
                raise ReleaseError(f"CHANGELOG.md: {of} has no date; run hack/release date")
            return found["text"].strip() + "\n"
    raise ReleaseError(f"CHANGELOG.md has no section for {of}")


def dated(text: str, of: str, date: str) -> str:
    """Return the text of the changelog with a date for a version that had none.

    Raises:
        ReleaseError: The version has no section that waits for its date.
    """
    title = f"## [{of}] - {_UNDATED}\n"
    if title not in text:
        raise ReleaseError(f"CHANGELOG.md has no line {title.strip()!r}")
    return text.replace(title, f"## [{of}] - {date}\n")


def packages(folder: Path) -> Path:
    """Build the source distribution, and the wheel from that one; return the wheel. The same sources give the same bytes."""
    environment = {name: value for name, value in os.environ.items() if name not in {"SOURCE_DATE_EPOCH", "PYTHONPATH"}}
    folder.mkdir(parents=True, exist_ok=True)
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder.resolve()]
    subprocess.run(build, cwd=ROOT, env=environment, check=True, capture_output=True)
    (source,) = folder.resolve().glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    command: list[str | Path] = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder.resolve(), source]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def build(folder: Path, tag: str | None, repository: str = "") -> None:
    """Write the files of a release into a new folder: packages, the document of what the image contains, manifest, chart, notes, checksums.

    `repository` is that on GitHub, as OWNER/NAME, whose image the manifest and the chart name.

    Raises:
        ReleaseError: The folder has content, the tag is not that of the version, or the changelog has no dated section for it.
        InstallationError: A tool cannot be installed.
        ProvideError: kubectl cannot be provided.
    """
    release = version()
    if tag is not None and tag != f"v{release}":
        raise ReleaseError(f"the tag {tag} is not that of version {release}: v{release}")
    if folder.exists() and any(folder.iterdir()):
        raise ReleaseError(f"{folder} is not empty")
    text = notes(CHANGELOG.read_text(), release) if tag is not None else ""
    packages(folder)
    (folder / SBOM).write_text(sbom())
    (folder / installation.MANIFEST).write_text(installation.manifest(release, repository))
    installation.pack_chart(folder, release, repository)
    if text:
        (folder / NOTES).write_text(text)
    (folder / SUMS).write_text("".join(_sums(folder)))


def _sums(folder: Path) -> Iterator[str]:
    """Yield the lines of sha256sum for the files that users get."""
    for path in sorted(folder.iterdir()):
        if path.name not in {SUMS, NOTES}:
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


def check(folder: Path) -> None:
    """Install the wheel in a new environment with the packages of the image only, and serve from it outside the checkout.

    Raises:
        ReleaseError: A checksum differs, or the installed program does not work.
        InstallationError: The packages cannot be installed.
    """
    if (folder / SUMS).read_text() != "".join(_sums(folder)):
        raise ReleaseError(f"{folder / SUMS} does not agree with the files")
    (wheel,) = folder.resolve().glob("*.whl")
    with tempfile.TemporaryDirectory(prefix="apiext-release-") as scratch:
        python = environments.beside(environments.of_image(), Path(scratch) / "venv")
        environments.install(python, wheel)
        apiext = python.with_name("apiext")
        if not (told := _run([apiext, "version"], scratch)).startswith(f"apiext {version()} "):
            raise ReleaseError(f"the installed program is another version: {told.strip()}")
        _serve(apiext, Path(scratch))


def _serve(apiext: Path, folder: Path) -> None:
    """Start a server and stop it once it is ready, which its first line says."""
    command: list[str | Path] = [apiext, "serve", "--secure-port=0", "--exit-with-parent", f"--data-dir={folder / 'data'}"]
    with (
        (folder / "log").open("w+") as log,
        subprocess.Popen(command, cwd=folder, env=_clean(folder), stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdout is not None
        first = server.stdout.readline()
        server.terminate()
        server.stdout.read()
        log.seek(0)
        lines = log.read().splitlines() or [""]
    if not first or server.returncode:
        raise ReleaseError(f"the installed server ended with code {server.returncode}: {lines[-1]}")


def _run(command: list[Path | str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, env=_clean(Path(folder)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{command[0]} failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def _clean(folder: Path) -> dict[str, str]:
    """Return an environment in which nothing leads to the checkout."""
    return {"PATH": os.defpath, "HOME": str(folder)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/release", description="Makes the files of a release, and checks them.")
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("build", help="write packages, SBOM, manifest, chart, notes and checksums into a new folder")
    made.add_argument("folder", type=Path)
    made.add_argument("--tag", help="the tag, which must be that of the version; CHANGELOG.md must have a date for it")
    made.add_argument("--repository", default="", help="the repository on GitHub, as OWNER/NAME, whose image manifest and chart name")
    checked = commands.add_parser("check", help="install the wheel of a folder in a clean environment, and serve from it")
    checked.add_argument("folder", type=Path)
    commands.add_parser("date", help="give the version in CHANGELOG.md the date of today")
    return parser


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = _parser().parse_args(argv)
    try:
        if options.command == "build":
            build(options.folder, options.tag, options.repository)
        elif options.command == "check":
            check(options.folder)
        else:
            CHANGELOG.write_text(dated(CHANGELOG.read_text(), version(), f"{datetime.now(UTC):%Y-%m-%d}"))
    except (ReleaseError, environments.InstallationError, ProvideError) as error:
        sys.exit(f"hack/release: {error}")


if __name__ == "__main__":
    main()
