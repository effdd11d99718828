"""Admission: what may veto or change a write after it was decoded and before it is stored.

Owns the chain, its attributes and the plug-ins. Must not know HTTP or how objects are stored: a plug-in that needs to look
something up is given a function for it.
Mirrors apiserver pkg/admission.
"""
