"""Garbage collection: deletes objects whose owners are gone, and ends deletions that wait for dependents or orphan them.

Owns the graph of owners and dependents, and what the collector does with it. Must not serve requests, and must not load watch caches:
it follows the stored bytes of all kinds and keeps only objects that have owners or wait for the collector.
Mirrors kubernetes pkg/controller/garbagecollector.
"""
