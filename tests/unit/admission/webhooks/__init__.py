"""Tests of the wing apiext.admission.webhooks."""
