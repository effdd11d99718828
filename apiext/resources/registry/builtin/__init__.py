"""Built-in kinds for standalone use: their codecs, defaults and strategies.

Must not be used for custom resources. Mirrors kubernetes pkg/registry/{coordination,core,events,rbac,storagemigration}.
"""
