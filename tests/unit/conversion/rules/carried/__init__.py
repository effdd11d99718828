"""Tests of apiext.conversion.rules.carried."""
