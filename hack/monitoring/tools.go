//go:build tools

// Package monitoring pins promtool, which checks and tests the alert rules of the manifests.
package monitoring

import (
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
