"""Tests that compare discovery and OpenAPI with the documents of the reference."""
