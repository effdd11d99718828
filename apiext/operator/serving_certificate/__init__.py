"""The certificate that the servers show, in a Secret of the host, and whom the host has to believe for it.

Owns the Secret and its renewal. Must not know who puts the authorities where (APIServices): it says which, and is told when that is done.
"""
