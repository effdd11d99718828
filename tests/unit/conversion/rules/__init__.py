"""Tests of apiext.conversion.rules."""
