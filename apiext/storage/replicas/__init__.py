"""The servers that share a store: their records, leases and locks, and the version in which each of them writes.

Owns these records' keys. Must not know the use of a lock or a version.
Mirrors apiserver pkg/storageversion and pkg/reconcilers in part.
"""
