"""Admission: webhooks and policies on both servers, which are guarded by the same ones."""
