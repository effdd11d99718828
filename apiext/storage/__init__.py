"""Where objects live: the bytes Backend (sqlite, etcd), the typed Store over it, and the watch cache.

Owns keys, revisions and their base, transactions, guards, watches, paging, and what is remembered of a host. Must not know HTTP,
CRDs or what an object means: versions and schemas reach it as a Codec. Mirrors k8s.io/apiserver/pkg/storage.
"""
