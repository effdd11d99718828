"""Releases of definitions and the objects that belong to them, as the tools read them: files, git revisions, clusters, archives, stores.

Must not judge what it reads, and must not write to a cluster or a store. Has no counterpart in Kubernetes.
"""
