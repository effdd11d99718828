"""Unit tests of definitions, and recorded responses of the reference."""
