"""Tests of the status of Conversion objects."""
