"""Tests of apiext/authorization."""
