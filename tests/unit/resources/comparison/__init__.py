"""Tests of apiext.resources.comparison."""
