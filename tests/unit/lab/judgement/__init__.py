"""Tests of apiext.lab.judgement."""
