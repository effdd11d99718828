"""Tests of the wing apiext.base.webhook.http1."""
