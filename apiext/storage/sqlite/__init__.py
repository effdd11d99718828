"""The embedded Backend: a multi-version log of bytes in one SQLite file, for one process.

Owns the file, its lock, its schema, group commit and the broadcast of changes. Must not know what a value means.
Mirrors the part of etcd's mvcc (server/storage/mvcc) that Kubernetes uses; the log is laid out as k3s-io/kine does.

Durability: a write is acknowledged after its transaction has been synced to the disk (WAL, synchronous=FULL). An acknowledged
write survives kill -9 and the loss of power, provided that the disk keeps what it reports as synced.
Writes that arrive while a transaction is being synced share the next one.
"""
