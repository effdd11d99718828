"""Defaulting: sets defaults for absent fields, drops disallowed nulls, and validates the defaults of a schema.

Mirrors apiextensions-apiserver pkg/apiserver/schema/defaulting.
"""
