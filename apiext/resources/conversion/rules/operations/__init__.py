"""The rules as pairs of functions: one changes an object of the spoke to one of the hub, the other takes the way back.

Owns what each kind of rule does to an object. Must not know schemas, nor which rules stand before and after: the compiler of the rules
tells what an operation needs of them.
"""
