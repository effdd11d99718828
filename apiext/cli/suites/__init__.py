"""The command that runs suites: `apiext test`, its text output as pytest's, and the question before it changes expectations.

Must not run cases: tools/suites does. Has no counterpart in Kubernetes.
"""
