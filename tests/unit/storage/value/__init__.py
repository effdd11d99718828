"""Tests of encryption at rest."""
