"""Handlers: one file per verb, with request options and bodies (apiserver pkg/endpoints/handlers)."""
