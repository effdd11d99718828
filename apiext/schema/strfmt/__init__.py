"""String formats: a predicate for each. It accepts the same texts as the reference, even where the standard differs.

Mirrors kube-openapi pkg/validation/strfmt. The patterns are our own and take linear time on any input.
"""
