"""The keywords that value validation checks: for each a function that returns its check and its violations for a node.

`registry.py` lists the functions in the order of the reference's violations. They run when a value first reaches a node, and make all
preparations: a check runs for every value. How checks are combined (checker.py) is not known here.
Mirrors kube-openapi pkg/validation/validate, apart from validator.go and schema.go.
"""
