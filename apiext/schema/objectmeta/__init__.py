"""Coercion and validation of apiVersion, kind and metadata of embedded resources.

The form of metadata itself belongs to apiext.meta; this room finds it in objects.
Mirrors apiextensions-apiserver pkg/apiserver/schema/objectmeta.
"""
