"""Tests of apiext/resources."""
