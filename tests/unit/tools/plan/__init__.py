"""Tests of apiext.tools.plan."""
