"""Tools for the versions of stored objects.

`rescue` finds unreadable objects, and repairs, exports or deletes them, through a running server or in the store of a stopped one.
This room must not serve requests, and must not write without a call for it.
"""
