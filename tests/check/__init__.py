"""Lint, types, layers and house rules, as a test: in a complete run they share the processes with all others."""
