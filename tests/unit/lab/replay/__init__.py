"""Tests of apiext.lab.plan."""
