"""Tests of apiext.garbagecollector."""
