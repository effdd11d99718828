"""Tests of the wing apiext.admission.matching."""
