"""Suites, their cases, and the results of cases, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object


class SuiteError(Exception):
    """A suite cannot be run as it is. The message is one line that names the file, and the line if there is one."""


class CaseKind(StrEnum):
    """The kinds of cases: the members of `tests`."""

    ON_CREATE = "onCreate"
    ON_UPDATE = "onUpdate"
    SCENARIO = "scenarios"


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """A case of a suite."""

    kind: CaseKind
    index: int
    """Its place among the cases of its kind, from 0."""
    name: str
    line: int
    """The line of the file where it begins, from 1."""
    spec: Object


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite file."""

    path: Path
    name: str
    crd_name: str
    """Empty if the file has `crd` in its place: the name of the only CRD in that manifest, as a variant of the suite has it."""
    version: str
    """Empty if the file names none."""
    feature_gates: Sequence[str]
    crds: Sequence[Path]
    """Manifests and folders that the file names; none with the layout of openshift/api."""
    conversion: Mapping[str, Any]
    """Webhook of definitions with strategy Webhook, as `webhookURL` and `caFile`; empty if the file names none."""
    cases: Sequence[SuiteCase]
    warnings: Sequence[str] = ()
    """Members that mean nothing here, with file and line."""
    has_all_versions: bool = False
    """Whether onCreate and onUpdate use all versions of the CRD unless the file names one: the older form of openshift/api."""


@dataclass(frozen=True, slots=True)
class SuiteVariant:
    """A suite with one of the manifests that it applies to."""

    suite: Suite
    manifest: Path
    digest: str
    """Digest of the schema: variants with the same one share a definition on a server."""
    label: str
    """What tells this variant from the others of its suite: the file name of its manifest."""


@dataclass(frozen=True, slots=True)
class SuiteJob:
    """The cases of a variant that shall run, one after the other, on one server."""

    variant: SuiteVariant
    cases: Sequence[SuiteCase]


class CaseOutcome(StrEnum):
    """What became of a case."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """The case could not be run: its definition is refused, or the server does not answer."""


@dataclass(slots=True)
class CaseResult:
    """What became of a case with a manifest."""

    outcome: CaseOutcome
    message: str = ""
    """Why it failed, in one or more lines."""
    expected: Any = None
    """The object that was expected, where objects differ."""
    found: Any = None
    """The object that was found, where objects differ."""
    seconds: float = 0.0
    correction: Mapping[str, Any] = field(default_factory=dict)
    """Members of the case that would make it pass: `expected` (an object), `expectedError`, `expectedStatusError` (texts)."""
    refusals: Sequence[Object] = ()
    """The causes of refused writes, as `field` and `message`, for the coverage."""


@dataclass(frozen=True, slots=True)
class FinishedCase:
    """A case of a variant with its result."""

    variant: SuiteVariant
    case: SuiteCase
    result: CaseResult

    @property
    def place(self) -> str:
        """Return the file, the manifest and the name of the case, as pytest names its items."""
        suite = self.variant.suite
        return f"{suite.path}::{self.variant.label}::{self.case.kind}::{self.case.name}"
