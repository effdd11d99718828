"""Tests of the wing apiext.api.serving.static_manifests."""
