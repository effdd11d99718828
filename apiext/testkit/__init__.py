"""Plugins of pytest for authors of CRDs.

Owns what pytest collects and its fixtures. Must not implement behaviour: the room lab does. Has no counterpart in Kubernetes.
"""
