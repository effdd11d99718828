"""The watch cache: objects of a resource in memory, updated by one watch of the backend, rendered once and shared.

Owns cached entries, the history of changes, and dispatch to watchers. Must not write to a backend, and must not decode an object
before a reader needs it. Mirrors k8s.io/apiserver/pkg/storage/cacher.
"""
