"""Tests of apiext.tools.releases."""
