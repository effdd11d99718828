"""The server process: options, certificates, the handler chain, start and shutdown.

This room alone constructs and connects the other rooms. It must not implement API behaviour.
Mirrors k8s.io/apiserver/pkg/server and its options.
"""
