"""apiVersion, kind and metadata of embedded resources: bringing them into shape, and checking them.

What metadata as such looks like belongs to apiext.meta; this is about where in an object it stands.
Mirrors apiextensions-apiserver pkg/apiserver/schema/objectmeta.
"""
