"""Tests of the room apiext.endpoints."""
