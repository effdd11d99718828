"""Tests of apiext/api/audit/log."""
