"""Tests of apiext.lab.releases."""
