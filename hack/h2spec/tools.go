//go:build tools

// Package h2spec pins h2spec, which checks servers of HTTP/2.
package h2spec

import (
	_ "github.com/summerwind/h2spec/cmd/h2spec"
)
