"""Commands about conversion by declaration: `apiext convert`.

Must not check or convert anything: resources/conversion, resources/authoring and operator/conversionserver do. Has no counterpart in
Kubernetes.
"""
