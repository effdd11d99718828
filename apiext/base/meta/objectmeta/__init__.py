"""Metadata of objects: canonical form, validation, fast reads from bytes, and conditions.

Must not know the kinds of objects. Mirrors apimachinery pkg/api/validation, pkg/api/meta and pkg/apis/meta/v1.
"""
