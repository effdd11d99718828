"""Tests of apiext.resources.conversion."""
