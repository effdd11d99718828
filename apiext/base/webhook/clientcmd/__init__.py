"""Which server a client calls, and with which credentials: kubeconfigs, exec plugins, auth providers, service accounts.

Owns these files, their forms, and the renewal of credentials. Must not call the server that they name.
Mirrors client-go tools/clientcmd, plugin/pkg/client/auth and rest (InClusterConfig).
"""
