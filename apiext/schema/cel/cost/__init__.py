"""Static costs of CEL expressions: the most that one evaluation may cost, from the limits that a schema sets.

Owns the estimates and the limits of x-kubernetes-validations in a CustomResourceDefinition. Costs that are counted during an evaluation
belong to the functions that incur them. Mirrors cel-go checker/cost.go and ext/costs.go, apiserver pkg/cel/library/cost.go and
apiextensions pkg/apis/apiextensions/validation/cel_validation.go. A change of an estimate changes which definitions are accepted.
"""
