"""A server for the tests of CRDs and operators: ready in a fraction of a second, without a cluster.

Owns the server of a test, its conversion webhook's place, releases within a test, and the pytest plugin, which also collects suites. Takes
the steps of releases from `replay`, and those of suites from `suites`. Must not be imported by a server, and the plugin must import nothing
else of this room before a test asks for a server. Does the work of sigs.k8s.io/controller-runtime pkg/envtest.
"""
