"""Tests of apiext.storage."""
