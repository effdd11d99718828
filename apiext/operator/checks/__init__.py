"""Checks of the path from a client of the host to an object in apiext's store, for `apiext doctor` and the operator's diagnosis.

Owns the possible faults on this path, their reasons and remedies. A check is a function that takes a Snapshot and a group and returns a
CheckVerdict. Must not write to any server, and must not import kopf.
"""
