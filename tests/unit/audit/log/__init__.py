"""Tests of apiext/audit/log."""
