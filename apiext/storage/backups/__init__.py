"""The content of whole stores as keys and values: copied while servers use a store, and restored into another one.

Must not know what a value means. Mirrors etcdctl snapshot and etcdutl snapshot restore, for embedded stores, too.
"""
