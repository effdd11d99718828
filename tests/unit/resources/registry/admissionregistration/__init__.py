"""Tests of the wing apiext.resources.registry.admissionregistration."""
