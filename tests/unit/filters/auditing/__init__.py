"""Tests of apiext/filters/auditing."""
