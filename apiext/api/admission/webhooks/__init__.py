"""Admission webhooks: which ones a write concerns, what they are asked, and what their answers do.

Owns AdmissionReviews, the dispatch of mutating and validating webhooks, and patches. Connections are those of the room `webhook`.
Must not know where configurations come from. Imported with the first configuration that names a webhook.
Mirrors apiserver pkg/admission/plugin/webhook.
"""
