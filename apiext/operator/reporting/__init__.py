"""Conditions, events and diagnoses that the operator writes to the host."""
