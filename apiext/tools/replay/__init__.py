"""Replays: a server of its own walks recorded objects through releases and back, and each step of the plans is checked.

Owns the server in a temporary folder, the steps as requests, and the checks. Judges nothing itself: `tools/plan` foretells. Must not touch
a cluster or a store that it did not create. Has no counterpart in Kubernetes.
"""
