"""From text to a syntax tree: tokens, parser, macros and the errors of both (cel-go parser)."""
