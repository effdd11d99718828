"""Tests of apiext/base."""
