"""Tests of apiext.tools.recordings."""
