"""Tests of apiext.resources.conversion.rules.operations."""
