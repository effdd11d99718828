"""String formats: a predicate for each, which accepts what the reference accepts, even where the standard differs.

Mirrors kube-openapi pkg/validation/strfmt. The patterns are our own and take linear time on any input.
"""
