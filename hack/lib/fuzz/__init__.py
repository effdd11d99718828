"""Coverage-guided fuzzing of all parsers of clients' input, with atheris.

`targets` has a function for each parser, `corpus` the kept inputs, `child` fuzzes one target in a process of its own, and
`__main__` runs them and reports. The tests feed each target with its kept inputs.
"""
