"""Migration of stored objects to the storage version of their definition.

Owns the controllers that rewrite objects after a change of the storage version. Must not serve requests, and must not choose the
version of clients' writes.
Mirrors kubernetes pkg/controller/storageversionmigrator; automatic migration has no counterpart there.
"""
