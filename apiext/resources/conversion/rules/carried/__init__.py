"""Carriers: what a version of an object cannot hold travels in an annotation, until the object returns to the version that has it.

Owns the annotation, the entries in it, how they are found, and how they are restored. Must not know rules: it sees an object, and
the same object after a conversion there and back.
"""
