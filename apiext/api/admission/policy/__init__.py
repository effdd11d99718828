"""ValidatingAdmissionPolicies and MutatingAdmissionPolicies.

Owns bindings, parameters, decisions and mutations. Expressions are compiled and evaluated by `schema/cel/policies/`; where policies come
from is the matter of `sources.py`. Mirrors apiserver pkg/admission/plugin/policy.
"""
