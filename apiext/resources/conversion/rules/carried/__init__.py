"""Carriers: what a version of an object cannot hold travels in an annotation, until the object returns to the version that has it.

Owns the annotation, the entries in it, how they are found, restored, and when they end. Must not know rules: it sees an object, and
the same object after a conversion there and back.
"""
