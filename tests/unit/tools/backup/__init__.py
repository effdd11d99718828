"""Tests of apiext/tools/backup."""
