"""Expectations rewritten in the text of suite files; comments and the layout of the rest stay."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.tools.releases.located_yaml import LocatedYAMLError, YAMLPath, located
from apiext.tools.suites.model import CaseOutcome
from apiext.tools.suites.objects import yaml_text

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.releases.located_yaml import LocatedDocument
    from apiext.tools.suites.model import FinishedCase

_EXPECTATIONS: Final = ("expected", "expectedError", "expectedStatusError")
_STEP: Final = "step"


class _UnwritableError(Exception):
    """The text has a form that is not rewritten."""


@dataclass(slots=True)
class FileUpdate:
    """What changes in a suite file."""

    path: pathlib.Path
    before: str
    after: str
    updated: int = 0
    """Cases with new expectations."""
    left_out: list[str] = field(default_factory=list)
    """Cases that are not rewritten, and why."""

    def difference(self) -> list[str]:
        """Return the difference as lines."""
        lines = (self.before.splitlines(), self.after.splitlines())
        return list(difflib.unified_diff(*lines, str(self.path), str(self.path), lineterm=""))


def updates_of(finished: Sequence[FinishedCase]) -> Iterator[FileUpdate]:
    """Yield the updates of the files whose cases failed with what makes them pass.

    A case that ran with several manifests is rewritten only if all of them say the same.
    """
    files: dict[pathlib.Path, dict[YAMLPath, list[FinishedCase]]] = {}
    for each in finished:
        path: YAMLPath = ("tests", str(each.case.kind), each.case.index)
        files.setdefault(each.variant.suite.path, {}).setdefault(path, []).append(each)
    for file, cases in sorted(files.items()):
        failed = {path: runs for path, runs in cases.items() if any(run.result.outcome is not CaseOutcome.PASSED for run in runs)}
        if failed:
            yield _update(file, failed)


def _update(file: pathlib.Path, failed: dict[YAMLPath, list[FinishedCase]]) -> FileUpdate:
    text = file.read_bytes().decode()
    found = FileUpdate(file, text, text)
    # from the end of the file, so that earlier lines keep their numbers
    for path, runs in sorted(failed.items(), key=lambda item: -item[1][0].case.line):
        name = runs[0].case.name
        corrections = [run.result.correction for run in runs]
        if not all(corrections):
            found.left_out.append(
                f"{name}: {'it passes with another manifest' if any(corrections) else 'no expectation would make it pass'}"
            )
        elif any(not json_values.equal(one, corrections[0]) for one in corrections):
            found.left_out.append(f"{name}: its manifests lead to different results")
        else:
            try:
                found.after = _rewritten(found.after, path, dict(corrections[0]))
                found.updated += 1
            except _UnwritableError as error:
                found.left_out.append(f"{name}: {error}")
    found.left_out.reverse()
    return found


def _rewritten(text: str, path: YAMLPath, correction: Object) -> str:
    """Return the text with one expectation of a case, in place of all that it has. Raise _UnwritableError."""
    if _STEP in correction:
        path = (*path, "steps", correction.pop(_STEP))
    ((member, value),) = correction.items()
    before = located(text.encode())
    lines = text.splitlines(keepends=True)
    old = [name for name in dict.fromkeys((member, *_EXPECTATIONS)) if (*path, name) in before.spans]
    place = old[0] if old else ""
    edits: list[tuple[tuple[int, int], list[str] | None]] = [
        (_lines_of(before, lines, (*path, name)), [] if name != place else None) for name in old
    ]
    if place:
        span = before.spans[(*path, place)]
        was_object = isinstance(_value_at(before.value, (*path, place)), dict)
        new = _member_lines(member, value, span.key_column, lines[span.key_line][: span.key_column], as_object=was_object)
    else:
        new, edits = _inserted(before, lines, path, member, value), [(_end_of(before, lines, path), None)]
    for (first, end), replacement in sorted(edits, key=lambda edit: -edit[0][0]):
        lines[first:end] = new if replacement is None else replacement
    after = "".join(lines)
    _check(before, after, path, member)
    return after


def _lines_of(document: LocatedDocument, lines: Sequence[str], path: YAMLPath) -> tuple[int, int]:
    """Return the first line of a member, and the line after its last one."""
    span = document.spans[path]
    is_list = isinstance(_value_at(document.value, path), list)
    end = span.key_line + 1
    while end < len(lines) and (not lines[end].strip() or _belongs(lines[end], span.key_column, is_list=is_list)):
        end += 1
    while end > span.key_line + 1 and not lines[end - 1].strip():
        end -= 1
    return span.key_line, end


def _belongs(line: str, column: int, *, is_list: bool) -> bool:
    """Return whether a line belongs to the member whose name begins at a column."""
    return _indent(line) > column or (is_list and _indent(line) == column and line.lstrip().startswith("- "))


def _end_of(document: LocatedDocument, lines: Sequence[str], path: YAMLPath) -> tuple[int, int]:
    """Return the line after the last one of a case, twice."""
    names = [name for name in _value_at(document.value, path) if (*path, name) in document.spans]
    end = max(_lines_of(document, lines, (*path, name))[1] for name in names)
    return end, end


def _inserted(document: LocatedDocument, lines: list[str], path: YAMLPath, member: str, value: Any) -> list[str]:
    """Return the lines of a member that a case does not have yet."""
    column = document.spans[(*path, next(iter(_value_at(document.value, path))))].key_column
    end, _ = _end_of(document, lines, path)
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    return _member_lines(member, value, column, " " * column, as_object=False)


def _member_lines(member: str, value: Any, column: int, before: str, *, as_object: bool) -> list[str]:
    """Return a member as lines; `before` is what stands before its name."""
    if isinstance(value, dict):
        indent = " " * (column + 2)
        body = [f"{indent}{line}\n" if line else "\n" for line in yaml_text(value).splitlines()]
        return [f"{before}{member}:{'' if as_object else ' |'}\n", *body]
    if isinstance(value, list):
        return [f"{before}{member}: [{', '.join(map(str, value))}]\n"]
    text = str(value)
    quoted = json.dumps(text, ensure_ascii=False) if "\n" in text or not text.isprintable() else "'" + text.replace("'", "''") + "'"
    return [f"{before}{member}: {quoted}\n"]


def _check(before: LocatedDocument, after: str, path: YAMLPath, member: str) -> None:
    """Check that nothing else has changed. Raise _UnwritableError."""
    try:
        value = located(after.encode()).value
        new, old = json_values.copy(value), json_values.copy(before.value)
        is_there = member in _value_at(new, path)
        for document in (new, old):
            for name in {member, *_EXPECTATIONS}:
                _value_at(document, path).pop(name, None)
    except (LocatedYAMLError, LookupError, TypeError, AttributeError) as error:
        raise _UnwritableError("its YAML has a form that is not rewritten") from error
    if not is_there or not json_values.equal(new, old):
        raise _UnwritableError("its YAML has a form that is not rewritten")


def _value_at(value: Any, path: YAMLPath) -> Any:
    for part in path:
        value = value[part]
    return value


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
