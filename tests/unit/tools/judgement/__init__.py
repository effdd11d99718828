"""Tests of apiext.tools.judgement."""
