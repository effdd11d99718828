"""Tests of apiext.storage.etcd that need no etcd."""
