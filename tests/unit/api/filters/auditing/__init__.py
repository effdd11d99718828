"""Tests of apiext/api/filters/auditing."""
