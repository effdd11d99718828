"""Tests of the test kit with real servers."""
