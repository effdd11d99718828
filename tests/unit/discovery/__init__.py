"""Tests of apiext.discovery."""
