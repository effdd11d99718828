"""Plays upgrades of real projects on kube-apiserver, and compares the harm to objects with the verdict of `apiext plan`."""
