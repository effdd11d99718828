"""Proves that conversion by rules gives equal answers behind kube-apiserver and in apiext, and loses nothing that is not declared."""
