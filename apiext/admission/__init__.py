"""Admission: what may veto or change a write after it was decoded and before it is stored.

Owns the chain, its attributes and the plug-ins. Must not know how requests come or how objects are stored: a plug-in that needs to
look something up is given a function for it, and is told of what it follows in the host.
Mirrors apiserver pkg/admission.
"""
