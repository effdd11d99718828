"""Tests of apiext/resources/evaluation."""
