"""Backends in front of another one or without a store, and parts that backends share.

Owns the revision offset and the encoding of transactions for size limits. Must not know what a value means.
Revision offsets have no counterpart in Kubernetes; the size limit is that of etcd's server/etcdserver.
"""
