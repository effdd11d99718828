"""Tests of apiext.tools."""
