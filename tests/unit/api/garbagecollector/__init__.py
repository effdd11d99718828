"""Tests of apiext.api.garbagecollector."""
