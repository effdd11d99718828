"""Admission: plug-ins that reject or change a write between decoding and storage.

Owns the chain, its attributes and the plug-ins. Must not know HTTP requests or storage: a plug-in receives a function for lookups,
and objects of informers through the Follower protocol.
Mirrors apiserver pkg/admission.
"""
