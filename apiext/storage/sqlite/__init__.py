"""The embedded Backend: a multi-version log of bytes in one SQLite file, for one process.

Owns the file, its lock, its schema, group commit and the broadcast of changes. Must not interpret values.
Mirrors the part of etcd's mvcc (server/storage/mvcc) that Kubernetes uses; the log is laid out as k3s-io/kine does.

Durability: the store acknowledges a write after its transaction's sync to disk (WAL, synchronous=FULL). An acknowledged write
survives kill -9 and a power failure if the disk keeps what it reports as synced. Writes that arrive during a sync share the next
transaction.
"""
