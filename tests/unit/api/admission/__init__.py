"""Tests of the room apiext.api.admission."""
