"""Tests of apiext.lab."""
