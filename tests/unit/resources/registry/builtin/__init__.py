"""Tests of apiext.resources.registry over an embedded store."""
