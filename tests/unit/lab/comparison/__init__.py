"""Tests of apiext.lab.comparison."""
