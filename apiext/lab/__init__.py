"""Tools for the versions of stored objects.

`rescue` finds objects that no version can show, and repairs, exports or deletes them. It works on a running server, or on the store
of a stopped one. This room must not serve requests, and must not write anything that its caller did not ask for.
"""
