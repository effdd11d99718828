"""The servers' certificate in a Secret of the host, and the CA bundle that the host has to trust.

Owns the Secret and its rotation. Must not know where the CA bundle is written to (APIServices): it publishes the bundle, and waits until
it is reported as distributed.
"""
