// Command loadgen sends one kind of request to an API server from several keep-alive connections, or
// watches from many while it writes, and prints what it measured as one JSON object. It reads the run
// from standard input, so that the same run goes to every server under comparison.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sort"
	"time"
)

// Run describes one measurement. In Path and Body "{i}" stands for an object's number, "{h}" for its last two digits, "{n}" for the request's, "{rv}" for the
// resourceVersion that the object had in the last answer, and "{t}" for the time of sending in nanoseconds.
type Run struct {
	URL, CA, Cert, Key string
	Clients            int
	Requests           int     // in all; 0: as many as fit into Seconds
	Seconds            float64 // upper bound
	Method, Path, Body string
	ContentType        string
	Accept             string
	Objects            int    // {i} runs from 0 to Objects-1
	Code               int    // expected instead of a success
	Pages              bool   // follow continue tokens, then begin anew
	Watchers           int    // watch WatchPath from so many connections meanwhile
	Stopped            int    // further connections that watch and read nothing
	WatchPath          string // with its query, to which the resourceVersion of WatchList is added
	WatchList          string // a list to take the resourceVersion from
	Revisions          string // a list to take the first {rv} of every object from
}

// Result is what a run measured. Latencies are in milliseconds.
type Result struct {
	Requests int            `json:"requests"`
	Errors   int            `json:"errors"`
	Error    string         `json:"error,omitempty"`
	Seconds  float64        `json:"seconds"`
	Rate     float64        `json:"rate"`
	P50      float64        `json:"p50"`
	P99      float64        `json:"p99"`
	Bytes    int64          `json:"bytes"`
	Codes    map[string]int `json:"codes"`
	Events   int64          `json:"events"`
	Missed   int64          `json:"missed"`
	EventP50 float64        `json:"event_p50"`
	EventP99 float64        `json:"event_p99"`
}

const readBytes = 128 << 10

func main() {
	var run Run
	if err := json.NewDecoder(os.Stdin).Decode(&run); err != nil {
		fail("the run cannot be read: %v", err)
	}
	transport, err := run.transport()
	if err != nil {
		fail("%v", err)
	}
	client := &http.Client{Transport: transport}
	if run.Objects == 0 {
		run.Objects = 1
	}
	revisions, err := run.firstRevisions(client)
	if err != nil {
		fail("%v", err)
	}
	var result Result
	if run.Watchers > 0 {
		result, err = run.fanout(transport, revisions)
	} else {
		result, err = run.load(transport, revisions)
	}
	if err != nil {
		fail("%v", err)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "loadgen: "+format+"\n", args...)
	os.Exit(1)
}

// transport speaks HTTP/1.1 on connections that stay open, and takes bodies as they come, without compression.
func (r *Run) transport() (*http.Transport, error) {
	ca, err := os.ReadFile(r.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s holds no certificate", r.CA)
	}
	pair, err := tls.LoadX509KeyPair(r.Cert, r.Key)
	if err != nil {
		return nil, err
	}
	connections := r.Clients + r.Watchers + r.Stopped + 1
	return &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		DisableCompression:  true,
		ReadBufferSize:      64 << 10,
		DialContext:         dial,
	}, nil
}

// dial connects. Of what has arrived, one read of the kernel takes many TLS records.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return buffered{connection, bufio.NewReaderSize(connection, readBytes)}, nil
}

// dialTLS connects and takes the server's certificate for the host of its address.
func dialTLS(ctx context.Context, config *tls.Config, address string) (net.Conn, error) {
	plain, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	config = config.Clone()
	config.ServerName = host
	secured := tls.Client(plain, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, err
	}
	return secured, nil
}

// buffered reads a connection through a buffer.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b buffered) Read(into []byte) (int, error) { return b.reader.Read(into) }

// percentile of sorted durations, in milliseconds.
func percentile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(share * float64(len(sorted)))
	if at >= len(sorted) {
		at = len(sorted) - 1
	}
	return float64(sorted[at].Microseconds()) / 1000
}

func sortDurations(all []time.Duration) {
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
}
