"""Tests of apiext.lab.conversions."""
