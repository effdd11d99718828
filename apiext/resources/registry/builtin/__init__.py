"""Built-in kinds for standalone use: their Go types, codecs and strategies.

Must not be used for custom resources. Mirrors kubernetes pkg/registry/{core,flowcontrol,storagemigration} and the types of k8s.io/api.
"""
