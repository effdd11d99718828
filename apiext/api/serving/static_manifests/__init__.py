"""Webhook configurations and policies from the files of a folder, which apply beside those of the API.

Owns the files, their rules, and the reloads. Must not apply them: the index of configurations gets them.
Mirrors apiserver pkg/admission/plugin/manifest, plugin/webhook/manifest and plugin/policy/manifest.
"""
