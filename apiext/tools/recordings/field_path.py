"""Paths of fields, as `--redact` names them: spec.hosts[].token, spec.*.key, metadata.annotations[example.com/key]."""

from __future__ import annotations

import re
from typing import Final

ITEM: Final = "[]"
"""The segment for the items of a list."""
ANY: Final = "*"
"""The segment for all members of an object, or all items of a list."""
_SEGMENT: Final = re.compile(r"\.?(?:(\[\]|\[\*\])|\[['\"]?([^\]'\"]+)['\"]?\]|([^.\[\]]+))")
_METADATA: Final = ("labels", "annotations", ANY)

FieldPath = tuple[str, ...]
"""Names of members, ITEM and ANY."""


class RedactPathError(ValueError):
    """A text is not a path of a field."""


def parse_field_path(text: str) -> FieldPath:
    """Return the path in a text, which may begin with a dot or `$`.

    Raises:
        RedactPathError: it is not a path, or names metadata that must stay.
    """
    rest, found = text.strip().removeprefix("$"), list[str]()
    while rest:
        segment = _SEGMENT.match(rest)
        if segment is None or (found and rest[0] not in ".["):
            raise RedactPathError(f"{text!r} is not a path such as spec.hosts[].token")
        item, key, name = segment.groups()
        found.append(ITEM if item else key or name)
        rest = rest[segment.end() :]
    if not found:
        raise RedactPathError(f"{text!r} is not a path such as spec.hosts[].token")
    if found[0] == "metadata" and (len(found) < 2 or found[1] not in _METADATA):
        raise RedactPathError(f"{text!r}: only labels and annotations of metadata can be redacted; --anonymize replaces names")
    return tuple(found)


def below(paths: tuple[FieldPath, ...], segment: str) -> tuple[FieldPath, ...]:
    """Return the rests of the paths that lead through a member or, with ITEM, an item. An empty rest is the place itself."""
    return tuple(path[1:] for path in paths if path and path[0] in (segment, ANY))
