"""Tests of apiext.migration."""
