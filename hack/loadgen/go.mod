module apiext.dev/loadgen

go 1.24
