"""Tests of apiext.storage.cacher."""
