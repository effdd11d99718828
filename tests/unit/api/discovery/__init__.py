"""Tests of apiext.api.discovery."""
