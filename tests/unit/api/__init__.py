"""Tests of apiext/api."""
