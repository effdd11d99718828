"""Tests of apiext/api/authentication."""
