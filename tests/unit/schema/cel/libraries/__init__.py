"""Tests of the function libraries."""
