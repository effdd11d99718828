"""Options of the server: flags, feature gates and plugins, validated before anything starts.

Must not open files of the store or sockets. Mirrors apiserver pkg/server/options and component-base/featuregate.
"""
