"""Tests of apiext/cli/releases."""
