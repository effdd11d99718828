"""Tests of apiext.tools.reports."""
