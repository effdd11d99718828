"""Tests of the room apiext.api.endpoints."""
