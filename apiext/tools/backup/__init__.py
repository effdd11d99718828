"""Backups of a store or of a server's objects, and their restoration into any store or server.

Owns the archive format, readers of the stores' own backup forms (SQLite's online copy, etcd's snapshot), and writers into stores and
servers. Values are copied as bytes: encrypted ones stay encrypted, invalid ones are kept. Must not change a value, and must not write to
a store that a server uses. Replaces etcdctl snapshot save and etcdutl snapshot restore (go.etcd.io/etcd/etcdutl/snapshot).
"""
