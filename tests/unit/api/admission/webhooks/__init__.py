"""Tests of the wing apiext.api.admission.webhooks."""
