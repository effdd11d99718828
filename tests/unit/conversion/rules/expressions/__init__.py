"""Tests of apiext.conversion.rules.expressions."""
