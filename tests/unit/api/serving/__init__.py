"""Unit tests of apiext.api.serving."""
