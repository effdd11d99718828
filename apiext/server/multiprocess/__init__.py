"""Several worker processes behind one port (`--workers`): the supervisor that starts them, and how they answer for the whole server.

A worker is a server of its own with its caches, as a replica is; the supervisor accepts the connections and passes each one on.
Owns the processes and their messages. Must not know requests, and is not imported by a server of one process.
Has no counterpart upstream: Go uses all cores in one process.
"""
