"""Tests of apiext.storage.etcd without an etcd."""
