"""The keywords that value validation checks: for each a function that returns its check and its violations for a node.

Each module ends with the table of its functions, in the order of the reference's violations. They run when a value first reaches a node,
and make all preparations: a check runs for every value. They must not know how checks are combined (checker.py).
Mirrors kube-openapi pkg/validation/validate, apart from validator.go and schema.go.
"""
