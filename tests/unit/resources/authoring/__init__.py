"""Tests of apiext.resources.authoring."""
