"""Tests: unit (no I/O), contract (one suite for each seam), integration (real processes), support (what they share)."""
