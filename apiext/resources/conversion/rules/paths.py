"""Paths of fields in rules: `spec.containers[*].image`, `metadata.labels['a.b/c']`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.base.meta.names import label_key
from apiext.resources.conversion.rules.model import EACH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.resources.conversion.rules.model import FieldSteps

CARRIER: Final = "conversion.apiext.dev/carried"
"""The annotation that carries what a version cannot hold."""
MAX_PATH_STEPS: Final = 64
"""Steps of a path. Objects of generated CRDs have up to 30 levels."""
_STEP: Final = re.compile(r"\.?([^.\[\]']+)|(\[\*\])|\['((?:[^'\\]|\\.)+)'\]", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_PLAIN: Final = re.compile(r"[^.\[\]']+")
_TEXTS: Final = ("labels", "annotations")


class InvalidPathError(ValueError):
    """A path is malformed, or leads to a field that rules must not change."""


def parse_path(text: str) -> FieldSteps:
    """Return the steps of a path.

    Raises:
        InvalidPathError: it is malformed or too long, or leads to apiVersion, kind, or metadata other than one label or annotation.
    """
    steps: list[str] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or (position and match[1] is not None and text[position] != "."):
            raise InvalidPathError(f"malformed at {text[position:]!r}: write a.b, a[*].b or a['b.c']")
        plain, each, quoted = match.groups()
        steps.append(EACH if each else plain or _ESCAPED.sub(r"\1", quoted))
        if not each and steps[-1] == EACH:
            raise InvalidPathError(f"must not name a field {EACH!r}")
        position = match.end()
    if len(steps) > MAX_PATH_STEPS:
        raise InvalidPathError(f"must not have more than {MAX_PATH_STEPS} steps")
    if not steps or steps[0] == EACH:
        raise InvalidPathError("must begin with the name of a field")
    require_changeable(steps)
    return tuple(steps)


def require_changeable(steps: Sequence[str]) -> None:
    """Check that rules may change a field.

    Raises:
        InvalidPathError: they must not.
    """
    if steps[0] in {"apiVersion", "kind"}:
        raise InvalidPathError("must not lead to apiVersion or kind")
    if steps[0] == "metadata" and (len(steps) != 3 or steps[1] not in _TEXTS or steps[2] in {EACH, CARRIER}):
        raise InvalidPathError("must not lead to metadata other than a label or an annotation of the user, as metadata.labels['name']")
    if steps[0] == "metadata" and (reasons := label_key(steps[2].lower() if steps[1] == _TEXTS[1] else steps[2])):
        raise InvalidPathError(f"must not lead to {steps[1]}[{steps[2]!r}]: {'; '.join(reasons)}")


def path_text(steps: FieldSteps) -> str:
    """Return the text of a path."""
    text = "".join(step if step == EACH else f".{step}" if _PLAIN.fullmatch(step) else f"['{_quoted(step)}']" for step in steps)
    return text.removeprefix(".")


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


def prefix_length(steps: FieldSteps) -> int:
    """Return the number of steps through the last one that stands for each item; 0 without one."""
    return max((index + 1 for index, step in enumerate(steps) if step == EACH), default=0)
