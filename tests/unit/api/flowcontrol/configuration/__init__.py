"""Tests of apiext/api/flowcontrol."""
