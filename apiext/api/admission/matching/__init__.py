"""Matching: which webhooks and policies apply to a write.

Owns rules, selectors and match policies, parsed once. Must not know webhooks, policies, or where configurations come from.
Mirrors apiserver pkg/admission/plugin/webhook/predicates and pkg/admission/plugin/policy/matching.
"""
