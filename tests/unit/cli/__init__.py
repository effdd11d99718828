"""Tests of apiext/cli."""
