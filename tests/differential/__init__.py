"""Tests that send the same requests to the real kube-apiserver and to apiext, and compare the responses."""
