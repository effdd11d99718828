"""Tests of apiext/filters."""
