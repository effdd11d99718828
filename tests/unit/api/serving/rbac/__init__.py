"""Tests of RBAC of a standalone server."""
