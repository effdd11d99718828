"""The servers' certificate in a Secret of the host, and its CA bundle for the host.

Owns the Secret and its rotation. Must not know APIServices: it publishes the CA bundle, and waits for `mark_distributed`.
"""
