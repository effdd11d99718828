"""Tests of the wing apiext.admission.configuration."""
