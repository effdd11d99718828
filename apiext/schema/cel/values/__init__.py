"""Run-time values of expressions: scalars, JSON of custom resources, Protobuf's messages, and their equality.

Owns how Python represents values, and how JSON becomes them. Must not evaluate expressions or know the generated code.
Mirrors cel-go common/types and apiserver pkg/cel/common/values.go.
"""
