"""Tests of apiext/server."""
