"""Tests of apiext.registry over an embedded store."""
