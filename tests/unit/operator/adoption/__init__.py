"""Adoption: unit tests, with both sides in memory."""
