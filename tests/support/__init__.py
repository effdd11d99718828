"""Helpers of the tests: `servers` run inside the test process, `clients` send requests and watch, `builders` make CRDs and objects.

Child processes and the programs of the reference are in hack/lib, which does not import from here.
"""
