"""Storage of objects: the bytes Backend (sqlite, etcd), the typed Store over it, and the watch cache.

Owns keys, revisions and their offset, transactions, guards, watches, paging, and the records about the host cluster. Must not know
HTTP, CRDs or the meaning of an object: versions and schemas come in as a Codec. Mirrors k8s.io/apiserver/pkg/storage.
"""
