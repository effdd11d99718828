"""Semantic versions (apiserver pkg/cel/library/semverlib.go, version 1; blang/semver v4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import ClassVar, Final

from apiext.base.meta.golang.formatting import quote
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import read_once
from apiext.schema.cel.libraries.library import Implementation, Library, Overload
from apiext.schema.cel.types import BOOL, INT, STRING, CelType
from apiext.schema.cel.values.run_time_values import OpaqueValue

_SEMVER: Final = CelType("kubernetes.Semver")
_NUMBER: Final = "(?:0|[1-9][0-9]{0,17})"
_PRERELEASE: Final = f"(?:{_NUMBER}|[0-9]*+[A-Za-z-][0-9A-Za-z-]*+)"
_BUILD: Final = "[0-9A-Za-z-]++"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PRERELEASE}(?:\.{_PRERELEASE})*+))?(?:\+({_BUILD}(?:\.{_BUILD})*+))?"
)
_PARTS: Final = 3
_DIGITS: Final = re.compile("[0-9]*")
_MAX_DIGITS: Final = 20
_PART: Final = re.compile("[0-9A-Za-z-]+")


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
    found = _VERSION.fullmatch(text)
    if found is None:
        raise CelError(_fault(text))
    *core, prerelease, build = found.groups()
    major, minor, patch = map(int, core)
    parts = prerelease.split(".") if prerelease else ()
    return SemverValue(
        (major, minor, patch),
        tuple(int(part) if part.isdigit() else part for part in parts),
        tuple(build.split(".")) if build else (),
    )


def _fault(text: str) -> str:
    """Return why a text is no version."""
    if not text:
        return "Version string empty"
    parts = text.split(".", _PARTS - 1)
    if len(parts) != _PARTS:
        return "No Major.Minor.Patch elements found"
    rest, _, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    for name, number in (("Major", parts[0]), ("Minor", parts[1]), ("Patch", patch)):
        if not _DIGITS.fullmatch(number):
            return f"Invalid character(s) found in {name.lower()} number {quote(number)}"
        if len(number) > 1 and number[0] == "0":
            return f"{name} number must not contain leading zeroes {quote(number)}"
        if not number:
            return 'strconv.ParseUint: parsing "": invalid syntax'
        if len(number) > _MAX_DIGITS or int(number) >> 64:
            return f"strconv.ParseUint: parsing {quote(number)}: value out of range"
    for part in prerelease.split(".") if dash else ():
        if fault := _prerelease_fault(part):
            return fault
    wrong = next((part for part in build.split(".") if not _PART.fullmatch(part)), "")
    return f"Invalid character(s) found in build meta data {quote(wrong)}" if wrong else "Build meta data is empty"


def _prerelease_fault(part: str) -> str:
    if not part:
        return "Prerelease is empty"
    if _DIGITS.fullmatch(part) and len(part) > 1 and part[0] == "0":
        return f"Numeric PreRelease version must not contain leading zeroes {quote(part)}"
    return "" if _PART.fullmatch(part) else f"Invalid character(s) found in prerelease {quote(part)}"


def _normalized(text: str) -> str:
    """Return a version without `v` and leading zeros, with its missing parts added."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", _PARTS - 1)]
    if len(parts) < _PARTS and any(sign in parts[-1] for sign in "+-"):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:_PARTS])


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if "0" <= rest[:1] <= "9" else f"0{rest}"


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002
    try:
        _parse(text, normalize)
    except CelError:
        return False
    return True


def _component(index: int) -> tuple[Overload, ...]:
    """Return the overload of a function for a number of the version."""
    return _member(f"semver_{('major', 'minor', 'patch')[index]}", (_SEMVER,), INT, lambda version: version.core[index])


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
