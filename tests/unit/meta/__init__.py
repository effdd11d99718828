"""The Kubernetes machinery."""
