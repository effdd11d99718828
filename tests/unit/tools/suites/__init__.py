"""Tests of apiext.tools.suites."""
