"""Tests of apiext/flowcontrol."""
