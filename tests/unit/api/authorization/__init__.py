"""Tests of apiext/api/authorization."""
