"""The webhook configurations and policies that apply, indexed by the requests that their rules name.

Followers (base/webhook/reflector.py) feed the index; it must not know where their objects come from.
Mirrors apiserver pkg/admission/configuration, and plugin/policy/generic/policy_source.go.
"""
