"""The benchmark: the real kube-apiserver and apiext, each with an etcd of its own, measured by one load generator in one run."""
