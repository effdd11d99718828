"""Tests of apiext.lab.recordings."""
