"""Compares what `apiext plan` says about real definitions, changed at random, with what kube-apiserver then does."""
