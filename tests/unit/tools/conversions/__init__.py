"""Tests of apiext.tools.conversions."""
