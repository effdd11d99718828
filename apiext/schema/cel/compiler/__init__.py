"""From a checked syntax tree to Python functions.

Owns the generated code. An expression becomes statements that assign to local variables, never nested Python expressions, so neither
Python's parser nor its compiler meets deep nesting; what would nest too many blocks becomes a function of its own. No text of a user
gets into the code except as a literal that Python itself has written (`repr`). Values of unknown types are left to the operators of
`standard`.
"""
