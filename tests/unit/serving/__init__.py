"""Unit tests of apiext.serving."""
