// Package fileutil replaces the file of the same name of go.etcd.io/etcd/client/pkg/v3/fileutil in an etcd for tests, whose disk
// can be slowed while it runs.
package fileutil

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// delayFile is the environment variable that names a file with the milliseconds of a delay.
const delayFile = "APIEXT_SYNC_DELAY_FILE"

// Fsync writes a file and its metadata to the disk.
func Fsync(f *os.File) error {
	delay()
	return f.Sync()
}

// Fdatasync writes the data of a file to the disk.
func Fdatasync(f *os.File) error {
	delay()
	return syscall.Fdatasync(int(f.Fd()))
}

// delay waits as long as the file says; without one, or with an empty one, not at all.
func delay() {
	text, err := os.ReadFile(os.Getenv(delayFile))
	if err != nil {
		return
	}
	if milliseconds, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	}
}
