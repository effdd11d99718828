"""Commands about conversion by declaration: `apiext convert`.

Must not check or convert anything: the rooms conversion, lab and conversionserver do. Has no counterpart in Kubernetes.
"""
