"""Tests of the version map."""
