"""Tests of apiext.conversion.rules.parsing."""
