"""Content negotiation, decoders and encoders of JSON, YAML and Protobuf."""
