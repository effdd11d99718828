"""Rendering of stored objects for readers: from stored bytes to the JSON of an item, list or event in one version.

Owns stored entries with their cached renderings, the conversion of batches, and renderings in worker processes. Must not read or write a
backend, and must not know conversion webhooks: they come in as a Conversion.
Mirrors the serialization caches of apiserver pkg/storage/cacher.
"""
