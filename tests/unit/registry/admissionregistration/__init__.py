"""Tests of the wing apiext.registry.admissionregistration."""
