"""Defaulting: filling in absent fields, dropping nulls that may not be, and checking the defaults of a schema.

Mirrors apiextensions-apiserver pkg/apiserver/schema/defaulting.
"""
