"""Tests of the wing apiext.api.admission.configuration."""
