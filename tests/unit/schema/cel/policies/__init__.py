"""Tests of expressions of admission."""
