"""From a syntax tree to a checked one: types, overloads and the validation of literals (cel-go checker, cel/validator.go)."""
