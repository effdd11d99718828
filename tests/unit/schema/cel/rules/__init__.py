"""Tests of the rules of custom resources."""
