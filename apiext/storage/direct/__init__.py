"""The typed Store straight over a backend, without a watch cache.

Owns the reads, lists and watches beyond the watch cache, and the Store of a worker process. Must not keep objects.
Mirrors apiserver pkg/storage/etcd3 (store.go, watcher.go).
"""
