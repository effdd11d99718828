"""Defaulting: sets defaults for absent fields, drops nulls that are not allowed, and validates the defaults of a schema.

Mirrors apiextensions-apiserver pkg/apiserver/schema/defaulting.
"""
