"""Tests of the copies of scopes and codecs in worker processes."""
