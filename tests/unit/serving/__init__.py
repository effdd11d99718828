"""Tests of the room apiext.serving."""
