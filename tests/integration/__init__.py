"""Tests of a real server process, driven over HTTP by real clients."""
