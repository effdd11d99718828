"""Judges objects under a changed definition: what reads, writes, conversions and applies give before and after the change.

It is the server's own code that judges. This wing must not read sources and must not decide whether a change is safe. Has no
counterpart in Kubernetes.
"""
