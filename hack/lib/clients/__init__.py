"""Runs clients of other projects against kube-apiserver and apiext, and compares what they saw."""
