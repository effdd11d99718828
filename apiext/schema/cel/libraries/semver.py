"""Semantic versions (apiserver pkg/cel/library/semverlib.go, version 1; blang/semver v4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import ClassVar, Final

from apiext.meta.golang.formatting import quote
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import read_once
from apiext.schema.cel.libraries.library import Implementation, Library, Overload
from apiext.schema.cel.types import BOOL, INT, STRING, CelType
from apiext.schema.cel.values import INT_MAX, UINT_MAX, OpaqueValue

_SEMVER: Final = CelType("kubernetes.Semver")
_DIGITS: Final = re.compile("[0-9]*", re.ASCII)
_IDENTIFIER: Final = re.compile("[0-9A-Za-z-]*", re.ASCII)
_PARTS: Final = 3
_MAX_DIGITS: Final = 20


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class SemverValue(OpaqueValue):
    """A version. Order and equality ignore build metadata."""

    cel_type: ClassVar[CelType] = _SEMVER
    core: tuple[int, int, int]
    """Major, minor and patch."""
    prerelease: tuple[int | str, ...]
    build: tuple[str, ...]

    @property
    def _order(self) -> tuple[object, ...]:
        """A version before its release is less than the release; numbers are less than texts."""
        return self.core, not self.prerelease, tuple((isinstance(part, str), part) for part in self.prerelease)

    def __eq__(self, other: object) -> bool:
        """Return whether neither version precedes the other."""
        return isinstance(other, SemverValue) and self._order == other._order

    def __lt__(self, other: SemverValue) -> bool:
        """Return whether a version precedes another one."""
        return self._order < other._order

    def __hash__(self) -> int:
        """Return the hash of all parts in the comparison."""
        return hash(self._order)

    def __str__(self) -> str:
        """Return the text of the version."""
        text = ".".join(map(str, self.core))
        if self.prerelease:
            text += f"-{'.'.join(map(str, self.prerelease))}"
        return f"{text}+{'.'.join(self.build)}" if self.build else text


def _parse(text: str, normalize: bool = False) -> SemverValue:  # noqa: FBT001, FBT002
    if normalize:
        text = _normalized(text)
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", _PARTS - 1)
    if len(parts) < _PARTS:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    rest, minus, prerelease = rest.partition("-")
    patch = _number(rest, "patch")
    return SemverValue(
        (major, minor, patch),
        tuple(map(_prerelease, prerelease.split("."))) if minus else (),
        tuple(map(_build, build.split("."))) if plus else (),
    )


def _normalized(text: str) -> str:
    """Return a version without `v` and leading zeros, with its missing parts added."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", _PARTS - 1)]
    if len(parts) < _PARTS and re.search("[+-]", parts[-1]):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:_PARTS])


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if "0" <= rest[:1] <= "9" else f"0{rest}"


def _number(text: str, name: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise CelError(f"Invalid character(s) found in {name} number {quote(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise CelError(f"{name.capitalize()} number must not contain leading zeroes {quote(text)}")
    return _uint(text)


def _uint(digits: str) -> int:
    if not digits:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    number = int(digits) if len(digits) <= _MAX_DIGITS else UINT_MAX + 1
    if number > UINT_MAX:
        raise CelError(f"strconv.ParseUint: parsing {quote(digits)}: value out of range")
    return number


def _prerelease(text: str) -> int | str:
    if not text:
        raise CelError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text.startswith("0"):
            raise CelError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return _uint(text)
    if not _IDENTIFIER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in prerelease {quote(text)}")
    return text


def _build(text: str) -> str:
    if not text:
        raise CelError("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in build meta data {quote(text)}")
    return text


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002
    try:
        _parse(text, normalize)
    except CelError:
        return False
    return True


def _component(index: int) -> tuple[Overload, ...]:
    """Return the overload of a function for a number of the version, as a signed 64-bit integer."""

    def component(version: SemverValue) -> int:
        number = version.core[index]
        return number if number <= INT_MAX else number - UINT_MAX - 1

    return _member(f"semver_{('major', 'minor', 'patch')[index]}", (_SEMVER,), INT, component)


def _member(overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation) -> tuple[Overload, ...]:
    return (Overload(id=overload, parameters=parameters, result=result, implementation=implementation, member=True),)


def _from_text(overloads: tuple[str, str], result: CelType, implementation: Implementation) -> tuple[Overload, ...]:
    """Return the overloads of a function of a text, without and with the argument `normalize`."""
    return tuple(
        Overload(
            id=overload_id, parameters=parameters, result=result, implementation=implementation, cost=read_once, undetermined_cost=read_once
        )
        for overload_id, parameters in zip(overloads, ((STRING,), (STRING, BOOL)), strict=True)
    )


SEMVER: Final = Library(
    name="kubernetes.Semver",
    functions={
        "semver": _from_text(("string_to_semver", "string_bool_to_semver"), _SEMVER, _parse),
        "isSemver": _from_text(("is_semver_string", "is_semver_string_bool"), BOOL, _is_semver),
        "isGreaterThan": _member("semver_is_greater_than", (_SEMVER, _SEMVER), BOOL, lambda left, right: left > right),
        "isLessThan": _member("semver_is_less_than", (_SEMVER, _SEMVER), BOOL, lambda left, right: left < right),
        "compareTo": _member("semver_compare_to", (_SEMVER, _SEMVER), INT, lambda left, right: (left > right) - (left < right)),
        "major": _component(0),
        "minor": _component(1),
        "patch": _component(2),
    },
)
