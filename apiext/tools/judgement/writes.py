"""Judges the writes of an object in one version: a create, an update of a label, a status update that changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.resources.evaluation.compiled_version import STATUS
from apiext.resources.evaluation.fields import described
from apiext.tools.judgement.stored_page import with_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.errors import StatusError
    from apiext.base.meta.field import FieldError
    from apiext.resources.evaluation.compiled_version import CompiledVersion, Refusal

LABEL: Final = "apiext-plan"
"""The label that the judged update sets."""
Problem = tuple[str, str]
"""A general path, and a message."""


@dataclass(slots=True)
class Writes:
    """What the writes of an object in one version give."""

    body: Object = field(default_factory=dict)
    """The object as a request's body is decoded."""
    written: Object | None = None
    """The object that the update of a label stores; None if it is refused."""
    invalid: dict[Problem, None] = field(default_factory=dict)
    """Why a create, or a change of the violating field, is refused."""
    stuck: dict[Problem, None] = field(default_factory=dict)
    """Why the update of a label is refused."""
    stuck_status: dict[Problem, None] = field(default_factory=dict)
    """Why the status update is refused."""
    refusal: StatusError | None = None
    """The answer to the update of a label."""
    warnings: Sequence[str] = ()
    """Of the update of a label: violated rules that are tolerated."""


def judge_writes(version: CompiledVersion, obj: Object) -> Writes:
    """Return what writes of an object give, as a read in the version gives it."""
    found = Writes()
    try:
        found.body = version.body(obj)
    except ValueError as error:
        found.stuck = {("", str(error)): None}
        found.invalid = dict(found.stuck)
        return found
    body = found.body
    new, found.warnings, refusal = version.update(with_label(body), obj)
    if refusal is None:
        found.written = new
        if not found.warnings and version.creates_like_updates and version.is_valid(new):
            return found
    else:
        found.refusal = refusal.status
        found.stuck = refused(version, new, refusal)
    found.invalid = _problems(version, body, version.content_errors(body))
    if version.has(STATUS) and (found.invalid or found.stuck):
        new, _, refusal = version.update(body, obj, STATUS)
        if refusal is not None:
            found.stuck_status = refused(version, new, refusal)
    return found


def with_label(obj: Object) -> Object:
    """Return an object with one more label. It shares its other members."""
    return with_metadata(obj, labels=((obj.get("metadata") or {}).get("labels") or {}) | {LABEL: "true"})


def refused(version: CompiledVersion, obj: Object, refusal: Refusal) -> dict[Problem, None]:
    """Return the problems of a refused update."""
    found = _problems(version, obj, refusal.errors)
    if found:
        return found
    causes = (refusal.status.details or {}).get("causes") or ()
    return {(cause.get("field", ""), cause["message"]): None for cause in causes} or {("", refusal.status.message): None}


def _problems(version: CompiledVersion, obj: Object, errors: Iterable[FieldError]) -> dict[Problem, None]:
    return {described(error, obj, version.schema.structural): None for error in errors}
