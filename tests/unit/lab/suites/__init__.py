"""Tests of apiext.lab.suites."""
