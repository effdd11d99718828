"""Versions of ConversionReview that a webhook may accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

REVIEW_VERSIONS: Final = ("v1", "v1beta1")


def has_known_review_version(versions: Sequence[str]) -> bool:
    """Report whether a webhook accepts a known version of ConversionReview, or declares none."""
    return not versions or any(version in REVIEW_VERSIONS for version in versions)
