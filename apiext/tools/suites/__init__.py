"""Suites: cases about CRDs in YAML files, run against servers of their own.

Owns the form of the files, the choice of manifests, the servers in temporary folders, and the comparison of expectations with answers.
Must not touch a cluster or a store that it did not create. Reads the suites of openshift/api (tests/generator.go) unchanged.
"""
