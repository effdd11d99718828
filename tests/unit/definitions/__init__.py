"""Definitions: unit tests, and what the reference answered."""
