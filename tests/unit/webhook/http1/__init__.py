"""Tests of the wing apiext.webhook.http1."""
