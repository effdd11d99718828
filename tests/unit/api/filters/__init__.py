"""Tests of apiext/api/filters."""
