"""Tests of apiext/authentication."""
