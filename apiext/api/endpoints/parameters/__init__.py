"""Query parameters and the options of each verb.

Owns decoding, validation and limits of these. Must not know scopes or storage. Mirrors apimachinery pkg/apis/meta (internalversion, v1).
"""
