"""Rules between the versions of real CRDs lose nothing that they do not declare."""

import pytest

from apiext.resources.conversion.rules.check.document_check import check_document, crd_schemas
from hack.lib.real_crds import NO_REAL, REAL
from tests.support.real_conversions import RealConversion, derived_conversions, real_conversions

pytestmark = pytest.mark.skipif(not REAL.exists(), reason=NO_REAL)
CONVERSIONS = [*real_conversions(), *derived_conversions()] if REAL.exists() else []
OBJECTS = 10


def test_there_are_enough_pairs() -> None:
    """Have rules for 30 pairs of versions with different fields, most of them as they are."""
    real, derived = (
        sum(len(conversion.pairs) for conversion in found) // 2
        for found in ([conversion for conversion in real_conversions() if conversion.is_written], derived_conversions())
    )

    assert real >= 24
    assert real + derived >= 30


@pytest.mark.parametrize("conversion", CONVERSIONS, ids=lambda conversion: conversion.name)
def test_rules_fit_their_crd(conversion: RealConversion) -> None:
    """Find no problem in the rules for the schemas of the CRD."""
    _, report = check_document(conversion.document, crd_schemas(conversion.crd))

    assert [str(problem) for problem in report.problems] == []


@pytest.mark.parametrize("conversion", CONVERSIONS, ids=lambda conversion: conversion.name)
def test_nothing_is_lost(conversion: RealConversion) -> None:
    """Convert objects of each version to each other one and back, with and without a change in between."""
    for source, target in conversion.pairs:
        counts = conversion.prove(source, target, OBJECTS, seed=2)

        assert counts.objects == OBJECTS


@pytest.mark.parametrize("conversion", CONVERSIONS, ids=lambda conversion: conversion.name)
def test_defaults_of_another_version_change_nothing(conversion: RealConversion) -> None:
    """Store the same object after a client of another version has written it as it read it: defaults of that version add no field."""
    stored = next(version["name"] for version in conversion.crd["spec"]["versions"] if version["storage"])
    for source, target in conversion.pairs:
        for before, after in conversion.written_unchanged(target, OBJECTS, seed=3) if source == stored else ():
            assert after | {"metadata": None} == before | {"metadata": None}
