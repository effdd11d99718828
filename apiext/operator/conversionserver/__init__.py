"""The conversion webhook of a cluster: `apiext convert serve`.

Owns the review protocol's server side, the compiled rules of the cluster's Conversion objects, and spec.conversion of the CRDs that ask
for it. Must not know how rules work: resources/conversion/rules compiles them. Keeps no state outside the cluster's objects, so replicas
need not know each other; the leader alone writes to the cluster. Implements the webhook that apiextensions-apiserver
pkg/apiserver/conversion/webhook_converter.go calls.
"""
