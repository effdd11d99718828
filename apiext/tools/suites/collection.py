"""Collection: from paths on the command line to the jobs that run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.tools.suites.model import SuiteError, SuiteJob
from apiext.tools.suites.suite_file import SuiteFiles
from apiext.tools.suites.suite_manifests import SuiteManifests

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.tools.suites.model import SuiteCase, SuiteVariant
    from apiext.tools.suites.selection_expression import Selection

SUFFIX: Final = ".testsuite.yaml"
_TESTS: Final = "tests"
_LEFT_OUT: Final = frozenset({"vendor", "node_modules"})


@dataclass(slots=True)
class CollectedSuites:
    """What shall run."""

    jobs: list[SuiteJob] = field(default_factory=list)
    """By file, manifest and case, in the order of the paths."""
    problems: list[SuiteError] = field(default_factory=list)
    """Files that cannot be run."""
    warnings: list[str] = field(default_factory=list)
    deselected: int = 0
    """Cases that do not match the selection."""

    @property
    def count(self) -> int:
        """Return the number of cases that shall run."""
        return sum(len(job.cases) for job in self.jobs)


def collect(paths: Sequence[str], selection: Selection | None = None, *, only_folders: bool = False) -> CollectedSuites:
    """Return the cases of the suites in files and folders.

    A path may end with `::` and a part of the names of cases. With `only_folders`, suites are only those in tests/<crdName>/.

    Raises:
        SuiteError: a path does not exist.
    """
    found, files, places = CollectedSuites(), SuiteFiles(), SuiteManifests()
    for given in paths:
        text, _, part = given.partition("::")
        for path in suite_paths(Path(text), "" if only_folders else SUFFIX):
            try:
                suite = files.read(path)
                variants = places.variants(suite)
            except SuiteError as error:
                found.problems.append(error)
                continue
            found.warnings += suite.warnings
            for variant in variants:
                cases = [case for case in suite.cases if _is_selected(variant, case, part, selection)]
                found.deselected += len(suite.cases) - len(cases)
                if cases:
                    found.jobs.append(SuiteJob(variant, cases))
    return found


def suite_paths(path: Path, suffix: str = SUFFIX) -> Iterator[Path]:
    """Yield the suites in a folder, in order, or the named file.

    Suites are files that end with `suffix` unless it is empty, and the YAML files in tests/<crdName>/.

    Raises:
        SuiteError: the path does not exist.
    """
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise SuiteError(f"{path}: no such file or folder")
    for parent, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        # openshift/api names the folder by the CRD: config/v1/tests/infrastructures.config.openshift.io
        is_suites = Path(parent).resolve().parent.name == _TESTS and "." in Path(parent).name
        yield from (Path(parent, name) for name in sorted(names) if _is_suite(name, suffix, in_folder=is_suites))


def _is_suite(name: str, suffix: str, *, in_folder: bool) -> bool:
    return bool(suffix and name.endswith(suffix)) or (in_folder and name.endswith(".yaml"))


def _is_selected(variant: SuiteVariant, case: SuiteCase, part: str, selection: Selection | None) -> bool:
    names = f"{variant.suite.path}::{variant.label}::{variant.suite.name}::{case.kind}::{case.name}"
    return part in names and (selection is None or selection(names))
