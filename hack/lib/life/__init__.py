"""The scripted life of a CustomResourceDefinition, from its first version over a migration to a rollback and forward again.

Clients write, read and watch all the time, while programs are killed at random moments; the answers of each chapter are compared
with those of a real kube-apiserver.
"""
