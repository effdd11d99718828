"""Move of a group's objects from the host to apiext (take-over), and back (hand-over).

Owns the order of the steps, all of which are repeatable. Must not act on groups without a definition on the host, and must not keep
state in memory: the next step follows from the annotations of definitions, mirrors and the policy, and from the APIServices.
"""
