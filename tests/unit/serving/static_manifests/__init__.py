"""Tests of the wing apiext.serving.static_manifests."""
