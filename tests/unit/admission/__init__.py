"""Tests of the room apiext.admission."""
