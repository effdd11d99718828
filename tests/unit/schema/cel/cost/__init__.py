"""Tests of the static costs of CEL expressions."""
