"""KMS plugins of API version v2, which encrypt the seed of the keys that encrypt values.

Owns the gRPC client, the stored message, seeds with their rotation, and the probes of plugins. Needs grpcio (extra `kms`), and is imported
only for a configuration with such a plugin. Mirrors k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2 and k8s.io/kms/apis/v2.
"""
