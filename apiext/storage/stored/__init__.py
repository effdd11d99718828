"""Work on the stored bytes of a resource: counts by version, repair, re-encoding, and raw objects for moves between stores.

Owns every access that bypasses the typed Store. Must not serve clients' reads or writes.
Stands in for what kube-apiserver leaves to etcdctl.
"""
