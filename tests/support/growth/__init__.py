"""Measures how the time of a function grows with its input, and lists the functions to measure."""
