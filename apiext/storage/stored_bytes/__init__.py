"""Work on a resource's stored bytes: counts by version, repair, re-encoding, and raw objects for moves between stores.

Owns every access that bypasses the typed Store. Must not serve clients' reads or writes.
Replaces etcdctl, which kube-apiserver needs for this work.
"""
