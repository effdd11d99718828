"""Tests of the Kubernetes machinery."""
