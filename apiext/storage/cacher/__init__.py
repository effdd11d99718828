"""The watch cache: the objects of a resource in memory, fed by one watch of the backend, rendered once and shared.

Owns cached entries, the history of changes, and the fan-out to watchers. Must not write to a backend, nor decode what
nobody asked for. Mirrors k8s.io/apiserver/pkg/storage/cacher.
"""
