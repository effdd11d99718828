"""Files of an earlier revision in a git repository, read without a checkout."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.tools.releases.crd_files import release_of_files
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.manifests import ManifestFile, is_manifest_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.tools.releases.interface import Release

_FILE_MODES: Final = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class _Tracked:
    """A path in a work tree."""

    root: Path
    """The top of the work tree."""
    path: str
    """Relative to the top, with slashes; "" for the top."""


async def is_revision(text: str, paths: Sequence[str | Path]) -> bool:
    """Report whether a text names a revision in the repository of the first path."""
    try:
        await _commit(text, (await _tracked(paths[0] if paths else ".")).root)
    except SourceError:
        return False
    return True


async def release_of_revision(revision: str, paths: Sequence[str | Path]) -> Release:
    """Return the release of the definitions that files and folders had in a revision. A path that was not there has none.

    Raises:
        SourceError: a path is not in a work tree, the revision is unknown, or a file of it is invalid.
    """
    files: list[ManifestFile] = []
    for path in paths:
        tracked = await _tracked(path)
        commit = await _commit(revision, tracked.root)
        files += await _files(tracked, commit, revision)
    return await release_of_files(f"git {revision}", files)


async def files_of_revision(revision: str, path: str) -> list[ManifestFile]:
    """Return the manifest files that a path had in a revision. As in git, it begins at the top of the work tree, or with ./ here.

    Raises:
        SourceError: the current folder is in no work tree, the revision is unknown, or it does not have the path.
    """
    is_here = path in (".", "..") or path.startswith(("./", "../", "/"))
    here = await _tracked(path if is_here else ".")
    tracked = here if is_here else _Tracked(here.root, Path(path).as_posix() if path else "")
    commit = await _commit(revision, tracked.root)
    try:
        await _git(tracked.root, "cat-file", "-e", f"{commit}:{tracked.path}")
    except SourceError as error:
        raise SourceError(f"git {revision} does not have {path}") from error
    return await _files(tracked, commit, revision)


async def _tracked(given: str | Path) -> _Tracked:
    """Return the place of a path in its work tree. The path itself may be missing today."""
    folder, rest = _existing(given)
    try:
        top = await _git(folder, "rev-parse", "--show-toplevel")
    except SourceError as error:
        raise SourceError(f"{given} is not in a git work tree: {error}") from error
    root = Path(os.fsdecode(top.removesuffix(b"\n")))
    relative = (folder.relative_to(root) / rest).as_posix()
    return _Tracked(root, "" if relative == "." else relative)


def _existing(given: str | Path) -> tuple[Path, Path]:
    """Return the nearest folder of a path that exists, resolved, and the rest of the path."""
    # the path itself may be a link in the work tree: only its folder is resolved
    path = Path(os.path.normpath(Path(given).expanduser().absolute()))
    folder = path
    while not folder.is_dir():
        folder = folder.parent
    return folder.resolve(), path.relative_to(folder)


async def _commit(revision: str, root: Path) -> str:
    try:
        found = await _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except SourceError as error:
        raise SourceError(f"the git repository {root} has no revision {revision!r}") from error
    return found.decode().strip()


async def _files(tracked: _Tracked, commit: str, revision: str) -> list[ManifestFile]:
    listed = await _git(tracked.root, "ls-tree", "-r", "-z", "--full-tree", commit, *_pathspec(tracked))
    chosen: list[tuple[str, str, bool]] = []
    for line in listed.split(b"\0"):
        head, _, name = line.partition(b"\t")
        mode, _, rest = head.decode().partition(" ")
        path = os.fsdecode(name)
        is_chosen = path == tracked.path
        if mode in _FILE_MODES and (is_chosen or is_manifest_name(path[len(tracked.path) :].lstrip("/"))):
            chosen.append((path, rest.partition(" ")[2], is_chosen))
    contents = await _contents(tracked.root, [blob for _, blob, _ in chosen])
    return [
        ManifestFile(f"{revision}:{path}", data, is_chosen=is_chosen) for (path, _, is_chosen), data in zip(chosen, contents, strict=True)
    ]


def _pathspec(tracked: _Tracked) -> list[str]:
    return ["--", tracked.path] if tracked.path else []


async def _contents(root: Path, blobs: Sequence[str]) -> list[bytes]:
    """Return the contents of blobs. `cat-file` runs no filters of the repository."""
    output = await _git(root, "cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode())
    found, at = [], 0
    for _ in blobs:
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        found.append(output[end + 1 : end + 1 + size])
        at = end + size + 2
    return found


async def _git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"LC_ALL": "C"}
    try:
        process = await asyncio.create_subprocess_exec(
            "git", *arguments, cwd=folder, env=environment, stdin=DEVNULL if given is None else PIPE, stdout=PIPE, stderr=PIPE
        )
    except OSError as error:
        raise SourceError(f"git cannot be run: {error.strerror or error}") from error
    output, problems = await process.communicate(given)
    if process.returncode:
        lines = problems.decode(errors="replace").strip().splitlines()
        raise SourceError(lines[0] if lines else f"git {arguments[0]} failed")
    return output
