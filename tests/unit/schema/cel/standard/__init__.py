"""Tests of the standard functions."""
