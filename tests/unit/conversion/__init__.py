"""Tests of apiext.conversion."""
