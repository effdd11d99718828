"""The copies of scopes and codecs in worker processes, and what they call in the server.

Owns how a process makes its copies, and the interfaces between both. Must not decide what runs there:
`api/endpoints/handlers/write.py` and `storage/rendering/version_view.py` do.
Stands in for Go's shared memory, which upstream needs no interface for.
"""
