"""Tests of apiext convert."""
