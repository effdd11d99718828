"""Tests of apiext.conversion.rules.operations."""
