"""Tests of apiext.api.openapi."""
