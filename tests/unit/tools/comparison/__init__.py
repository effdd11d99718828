"""Tests of apiext.tools.comparison."""
