package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// worker is one client: one connection, one request after the other.
type worker struct {
	run        *Run
	connection *connection
	number     int
	revisions  []string
	body       bytes.Buffer
	buffer     [64 << 10]byte
	page       string

	latencies []time.Duration
	read      int64
	errors    int
	err       string
	codes     map[string]int
}

// firstRevisions reads the resourceVersions of the objects by the number at the end of their names.
func (r *Run) firstRevisions(client *http.Client) ([]string, error) {
	revisions := make([]string, r.Objects)
	if r.Revisions == "" {
		return revisions, nil
	}
	response, err := client.Get(r.URL + r.Revisions)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var list struct {
		Items []struct {
			Metadata struct{ Name, ResourceVersion string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return nil, err
	}
	for _, item := range list.Items {
		number, err := strconv.Atoi(item.Metadata.Name[strings.LastIndexByte(item.Metadata.Name, '-')+1:])
		if err == nil && number < len(revisions) {
			revisions[number] = item.Metadata.ResourceVersion
		}
	}
	return revisions, nil
}

// load sends the requests; each client has objects of its own, so that writers never conflict.
func (r *Run) load(transport *http.Transport, revisions []string) (Result, error) {
	server, err := url.Parse(r.URL)
	if err != nil {
		return Result{}, err
	}
	workers := make([]*worker, r.Clients)
	var wait sync.WaitGroup
	var next atomic.Int64
	start := time.Now()
	deadline := start.Add(time.Duration(r.Seconds * float64(time.Second)))
	for i := range workers {
		own := &connection{transport: transport, address: server.Host}
		w := &worker{run: r, connection: own, number: i, revisions: revisions, codes: map[string]int{}}
		workers[i] = w
		wait.Add(1)
		go func() {
			defer wait.Done()
			w.work(&next, deadline)
		}()
	}
	wait.Wait()
	return gather(workers, time.Since(start)), nil
}

func gather(workers []*worker, took time.Duration) Result {
	result := Result{Seconds: took.Seconds(), Codes: map[string]int{}}
	var all []time.Duration
	for _, w := range workers {
		all = append(all, w.latencies...)
		result.Bytes += w.read
		result.Errors += w.errors
		if w.err != "" {
			result.Error = w.err
		}
		for code, count := range w.codes {
			result.Codes[code] += count
		}
	}
	sortDurations(all)
	result.Requests = len(all)
	result.Rate = float64(len(all)) / took.Seconds()
	result.P50, result.P99 = percentile(all, 0.5), percentile(all, 0.99)
	return result
}

func (w *worker) work(next *atomic.Int64, deadline time.Time) {
	for turn := 0; ; turn++ {
		if !time.Now().Before(deadline) {
			return
		}
		n := next.Add(1) - 1
		if w.run.Requests > 0 && n >= int64(w.run.Requests) {
			return
		}
		object := int(n) % w.run.Objects
		if w.run.Revisions != "" {
			object = (turn*w.run.Clients + w.number) % w.run.Objects
			if w.run.Objects%w.run.Clients != 0 {
				w.err = "the number of objects must be a multiple of the number of clients"
				return
			}
		}
		w.send(object, n)
	}
}

func (w *worker) send(object int, n int64) {
	replace := strings.NewReplacer(
		"{i}", strconv.Itoa(object), "{h}", strconv.Itoa(object%100), "{n}", strconv.FormatInt(n, 10),
		"{rv}", w.revisions[object], "{t}", strconv.FormatInt(time.Now().UnixNano(), 10))
	target := w.run.URL + replace.Replace(w.run.Path)
	if w.page != "" {
		target += "&continue=" + url.QueryEscape(w.page)
	}
	var body io.Reader
	if w.run.Body != "" {
		body = strings.NewReader(replace.Replace(w.run.Body))
	}
	request, err := http.NewRequest(w.run.Method, target, body)
	if err != nil {
		w.fail(err)
		return
	}
	if w.run.ContentType != "" {
		request.Header.Set("Content-Type", w.run.ContentType)
	}
	if w.run.Accept != "" {
		request.Header.Set("Accept", w.run.Accept)
	}
	start := time.Now()
	response, err := w.connection.RoundTrip(request)
	if err != nil {
		w.fail(err)
		return
	}
	read, err := w.receive(response)
	response.Body.Close()
	if err != nil {
		w.fail(err)
		return
	}
	w.latencies = append(w.latencies, time.Since(start))
	w.read += read
	w.codes[strconv.Itoa(response.StatusCode)]++
	if response.StatusCode >= 300 && response.StatusCode != w.run.Code {
		w.fail(fmt.Errorf("%d: %.300s", response.StatusCode, w.body.Bytes()))
		return
	}
	if w.run.Revisions != "" {
		w.revisions[object] = text(w.body.Bytes(), `"resourceVersion":"`)
	}
	if w.run.Pages {
		w.page = text(w.body.Bytes(), `"continue":"`)
	}
}

// receive takes a body to its end. Only one that is needed is kept: writing large ones to memory would be a part of what is measured.
func (w *worker) receive(response *http.Response) (int64, error) {
	w.body.Reset()
	if w.run.Pages || w.run.Revisions != "" || response.StatusCode >= 300 {
		return w.body.ReadFrom(response.Body)
	}
	return io.CopyBuffer(io.Discard, struct{ io.Reader }{response.Body}, w.buffer[:])
}

func (w *worker) fail(err error) {
	w.errors++
	w.err = err.Error()
}

// text gives the string after a marker up to the next quote.
func text(body []byte, marker string) string {
	at := bytes.LastIndex(body, []byte(marker))
	if at < 0 {
		return ""
	}
	rest := body[at+len(marker):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return ""
	}
	return string(rest[:end])
}
