"""Commands about releases of CRDs: plan, replay, record and explain, with the flags and outputs that they share.

Must not judge or read anything: the rooms of tools do. Has no counterpart in Kubernetes.
"""
