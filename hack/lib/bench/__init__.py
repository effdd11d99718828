"""The benchmark: one load generator measures the real kube-apiserver and apiext, each with its own etcd, in one run."""
