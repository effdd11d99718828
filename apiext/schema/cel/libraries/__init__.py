"""Functions beyond the standard ones: one module for each library (apiserver pkg/cel/library, cel-go ext).

A library declares its overloads for the type checker and implements them over run-time values, with the run-time cost of each call.
Which library belongs to which Kubernetes version is not decided here.
"""
