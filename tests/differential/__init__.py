"""The same requests to the real kube-apiserver and to apiext: the answers must be equal."""
