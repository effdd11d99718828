"""Commands about releases of CRDs: plan, replay, record and explain, with the flags and outputs that they share.

Must not judge or read anything: the room lab does. Has no counterpart in Kubernetes.
"""
