"""The typed Store straight over a backend, without a watch cache.

Owns reads, lists and watches that the watch cache cannot answer, and the Store of a worker process. Must not keep objects.
Mirrors apiserver pkg/storage/etcd3 (store.go, watcher.go).
"""
