"""Tests of the wing apiext.api.admission.matching."""
