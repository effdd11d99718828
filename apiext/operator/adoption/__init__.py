"""Move of a group's objects from the host to apiext (take-over), and back (hand-over).

Owns the order of the steps, and that every step can be repeated. Must not act on groups without a definition on the host, and must not
keep state in memory: annotations of definitions, mirrors and the policy, and the APIServices, tell which step is next.
"""
