// Command null is a server that does nothing: to each request it sends the prepared answer of its path, or of all other paths. Behind
// an aggregator it shows what the aggregator itself costs. It reads its settings as one JSON object from its first line of standard
// input, prints a line when it listens, and serves until standard input ends.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
)

type settings struct {
	Address, Cert, Key string
	HTTP2              bool
	Answers            map[string]string // bodies in JSON for GET, by path
	Other              string            // the body of all other answers
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	var own settings
	if err := json.NewDecoder(in).Decode(&own); err != nil {
		log.Fatalf("null: the settings cannot be read: %v", err)
	}
	pair, err := tls.LoadX509KeyPair(own.Cert, own.Key)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", own.Address)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: own.handler(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	if !own.HTTP2 {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	go func() { log.Fatal(server.ServeTLS(listener, "", "")) }()
	fmt.Println("listening")
	io.Copy(io.Discard, in)
}

func (s *settings) handler() http.Handler {
	answers := map[string][]byte{}
	for path, body := range s.Answers {
		answers[path] = []byte(body)
	}
	other := []byte(s.Other)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		body, found := answers[r.URL.Path]
		if !found || r.Method != http.MethodGet {
			body = other
		}
		header := w.Header()
		header["Content-Type"] = []string{"application/json"}
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		w.Write(body)
	})
}
