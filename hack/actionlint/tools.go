//go:build tools

// Package actionlint pins actionlint, which checks the workflows of GitHub.
package actionlint

import (
	_ "github.com/rhysd/actionlint/cmd/actionlint"
)
