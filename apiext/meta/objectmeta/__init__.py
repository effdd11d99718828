"""The metadata of objects: its canonical form, its validation, quick reads of it from bytes, and conditions.

Must not know the kinds of objects. Mirrors apimachinery pkg/api/validation, pkg/api/meta and pkg/apis/meta/v1.
"""
