"""The differential harness: sends generated requests about real definitions to kube-apiserver and to apiext, and compares the answers."""
