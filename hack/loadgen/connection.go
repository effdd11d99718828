package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
)

// connection sends one request after the other on a connection that stays open, in the goroutine of its caller: the
// goroutines of http.Transport take processor time from the server that is measured.
type connection struct {
	transport *http.Transport
	address   string
	conn      net.Conn
	reader    *bufio.Reader
	writer    *bufio.Writer
}

// RoundTrip implements http.RoundTripper. The body of the last response must have been read to its end.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := c.open(request.Context()); err != nil {
		return nil, err
	}
	response, err := c.exchange(request)
	if err != nil {
		c.conn.Close()
	}
	if err != nil || response.Close {
		c.conn = nil
	}
	return response, err
}

func (c *connection) open(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	conn, err := dialTLS(ctx, c.transport.TLSClientConfig, c.address)
	if err != nil {
		return err
	}
	c.conn, c.reader, c.writer = conn, bufio.NewReaderSize(conn, c.transport.ReadBufferSize), bufio.NewWriter(conn)
	return nil
}

func (c *connection) exchange(request *http.Request) (*http.Response, error) {
	if err := request.Write(c.writer); err != nil {
		return nil, err
	}
	if err := c.writer.Flush(); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.reader, request)
}
