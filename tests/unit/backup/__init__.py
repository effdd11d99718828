"""Tests of apiext/backup."""
