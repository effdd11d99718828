"""Tests of apiext.api.migration."""
