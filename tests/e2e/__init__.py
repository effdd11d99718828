"""End-to-end tests: apiext behind a real kube-apiserver."""
