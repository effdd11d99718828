"""Tests of apiext/audit."""
