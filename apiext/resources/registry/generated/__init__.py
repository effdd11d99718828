"""Built-in kinds from generated data: their defaults and strategies. There are no controllers.

Must not be imported without the flag --builtin-kinds, but for a request for Services. Mirrors kubernetes pkg/apis/*/v1/defaults.go and
pkg/registry/*/*/strategy.go.
"""
