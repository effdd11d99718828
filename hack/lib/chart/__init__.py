"""Makes the templates of the Helm chart from the kustomizations in manifests/: all builds, laid over each other.

Where builds differ, the template has the condition on the chart's values that tells them apart. Must not decide what is installed.
"""
