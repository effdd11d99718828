"""Tests of apiext.openapi."""
