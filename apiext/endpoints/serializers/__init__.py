"""JSON, YAML and Protobuf: content negotiation, decoders and encoders."""
