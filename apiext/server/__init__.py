"""The process: options, certificates, the chain of filters, and its life from start to end.

The only place that builds concrete parts and joins them. Must not hold behaviour of the API itself.
Mirrors k8s.io/apiserver/pkg/server and its options.
"""
