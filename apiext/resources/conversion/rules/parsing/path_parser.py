"""Parses the paths of rules, and collects their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.field import invalid
from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.paths import InvalidPathError, parse_path, path_text, prefix_length, require_changeable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.conversion.rules.model import FieldSteps

_NOTHING: FieldSteps = ("",)
"""In place of an invalid path."""


class PathParser:
    """Parses paths. An invalid one adds an error."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def value(self, text: str, at: Path, *, texts: bool = False) -> FieldSteps:
        """Return the path of a value: a field, or every item or value of a list or map. `texts` allows labels and annotations."""
        try:
            steps = parse_path(text)
            if not texts and steps[0] == "metadata":
                raise InvalidPathError("must not lead to metadata: labels and annotations stay texts")
        except InvalidPathError as error:
            self.errors.append(invalid(at, text, str(error)))
            return _NOTHING
        return steps

    def field(self, text: str, at: Path) -> FieldSteps:
        """Return the path of a field, which does not end with [*]."""
        steps = self.value(text, at, texts=True)
        if steps[-1] == EACH:
            self.errors.append(invalid(at, text, "must end with the name of a field"))
            return _NOTHING
        return steps

    def single(self, text: str, at: Path) -> FieldSteps:
        """Return the path of one field, without [*]."""
        steps = self.field(text, at)
        if EACH in steps:
            self.errors.append(invalid(at, text, "must not contain [*]: an expression sets one field"))
        return steps

    def renamed(self, source: FieldSteps, name: str, at: Path) -> FieldSteps:
        """Return the path of a field with another name."""
        target = (*source[:-1], name)
        try:
            require_changeable(target)
        except InvalidPathError as error:
            self.errors.append(invalid(at, name, str(error)))
        if name in {EACH, source[-1]}:
            self.errors.append(invalid(at, name, "must be another name"))
        return target

    def related(self, paths: Sequence[tuple[str, Path]]) -> list[FieldSteps]:
        """Return the different paths of fields of one object, or of each item of one list or map."""
        found = [self.field(text, at) for text, at in paths]
        first = found[0]
        shared = first[: prefix_length(first)]
        for number, (steps, (text, at)) in enumerate(zip(found, paths, strict=True)):
            if steps is _NOTHING or first is _NOTHING or not number:
                continue
            if steps[: prefix_length(steps)] != shared:
                expected = f"begin with {path_text(shared)}" if shared else "not contain [*]"
                self.errors.append(invalid(at, text, f"must {expected}, as {paths[0][0]} does: fields move within one item"))
            elif steps in found[:number]:
                self.errors.append(invalid(at, text, "is named twice"))
        return found
