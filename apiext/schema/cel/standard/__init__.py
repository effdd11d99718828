"""The functions and operators that every environment has (cel-go common/stdlib, common/types).

Owns what they do, and what a call costs at run time. Operators over values of known types are written into the compiled program instead.
"""
