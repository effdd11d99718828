"""Tests of the schema room, a file for each rule."""
