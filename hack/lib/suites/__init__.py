"""Comparison of `apiext test` with the runner of openshift/api on kube-apiserver."""
