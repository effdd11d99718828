"""Versions of ConversionReview and AdmissionReview that a webhook may accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.field import FieldError, Path

REVIEW_VERSIONS: Final = ("v1", "v1beta1")


def has_known_review_version(versions: Sequence[str]) -> bool:
    """Report whether a webhook accepts a known version of the review, or declares none."""
    return not versions or any(version in REVIEW_VERSIONS for version in versions)


def review_version_errors(versions: Sequence[str], path: Path, *, recognized: bool) -> list[FieldError]:
    """Return the errors of a list of versions, which is not empty. `recognized`: one of them must be known."""
    errors: list[FieldError] = []
    found: set[str] = set()
    for index, version in enumerate(versions):
        problems = ["duplicate version"] if version in found else names.dns1035_label(version)
        errors += [field.invalid(path.index(index), version, problem) for problem in problems]
        found.add(version)
    if recognized and not has_known_review_version(versions):
        errors.append(field.invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors
