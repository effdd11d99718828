"""Tests of the check of conversion rules."""
