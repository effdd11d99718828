"""Tests of several worker processes."""
