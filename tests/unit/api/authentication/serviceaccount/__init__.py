"""Tests of tokens of service accounts."""
