"""Tools for the versions of definitions and objects: plans, replays, suites, recordings, backups, the test kit, rescue.

Owns what happens to versions besides serving them. Must not serve requests, and must not write to a store
or a server without a call for it.
Has no counterpart in Kubernetes.
"""
