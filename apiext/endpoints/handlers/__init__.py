"""One handler a verb, with its request options and bodies (apiserver pkg/endpoints/handlers)."""
