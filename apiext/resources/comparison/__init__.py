"""Comparison of two definitions: every change by a rule, whom it may break, and its grade.

Must not look at objects. Covers the rules of crdify (kubernetes-sigs/crdify), which OLM v1 runs before it upgrades a CRD.
"""
