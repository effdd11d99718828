"""Functions and operators of every environment (cel-go common/stdlib, common/types).

Owns their implementations and run-time costs. The compiled program itself contains operators over values of known types.
"""
