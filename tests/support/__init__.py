"""Helpers of the tests: `servers` run in the test process, `clients` send requests and watch, `builders` make CRDs and objects.

hack/lib has child processes and the programs of the reference. It does not import from here.
"""
