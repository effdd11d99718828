"""Tests of the CEL room: what cel-go and the reference answer is the expectation."""
