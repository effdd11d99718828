"""Measurement of how the time of a function grows with its input, and the functions that are measured."""
