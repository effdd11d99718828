"""The audit log: the lines of events, the thread that writes them, files and their rotation, and what requests wait for.

Mirrors k8s.io/apiserver/plugin/pkg/audit/log.
"""
