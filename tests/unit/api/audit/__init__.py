"""Tests of apiext/api/audit."""
