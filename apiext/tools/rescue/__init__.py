"""Rescue of unreadable objects: finds, compares, repairs, exports and deletes them.

Works through a running server, or in the store of a stopped one (resources/stored_objects). Must not write without a call for it.
"""
