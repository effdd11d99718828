"""Formats of strings, each a predicate, as the reference accepts them (which is not always as their standards say).

Mirrors kube-openapi pkg/validation/strfmt. Patterns here are ours and safe on any input; none takes more than linear time.
"""
