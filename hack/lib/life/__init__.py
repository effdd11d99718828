"""The scripted life of a CustomResourceDefinition, from its first version over a migration to a rollback and forward again.

Clients write, read and watch all the time, while programs are killed at random moments. The answers of each chapter must equal
those of a real kube-apiserver.
"""
