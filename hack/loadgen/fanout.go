package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sentMarker = `"sent":"`
	drainTime  = 10 * time.Second
)

// watcher reads one watch and notes how late every event is.
type watcher struct {
	events    atomic.Int64
	latencies []time.Duration
	last      time.Time
	err       error
}

// fanout writes while many connections watch. Every watcher must see every write; what it did not see in time is missed.
func (r *Run) fanout(transport *http.Transport, revisions []string) (Result, error) {
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	from, err := r.latestRevision(client)
	if err != nil {
		return Result{}, err
	}
	for range r.Stopped {
		response, err := r.openWatch(ctx, client, from)
		if err != nil {
			return Result{}, err
		}
		defer response.Body.Close()
	}
	watchers := make([]*watcher, r.Watchers)
	var done sync.WaitGroup
	for i := range watchers {
		w := &watcher{}
		watchers[i] = w
		response, err := r.openWatch(ctx, client, from)
		if err != nil {
			return Result{}, err
		}
		done.Add(1)
		go func() {
			defer done.Done()
			w.follow(response)
		}()
	}
	start := time.Now()
	result, err := r.load(transport, revisions)
	if err != nil {
		return Result{}, err
	}
	want := int64(result.Requests - result.Errors)
	for deadline := time.Now().Add(drainTime); time.Now().Before(deadline) && !allSaw(watchers, want); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	done.Wait()
	return delivered(result, watchers, want, start), nil
}

// latestRevision gives the resourceVersion of a list.
func (r *Run) latestRevision(client *http.Client) (string, error) {
	response, err := client.Get(r.URL + r.WatchList)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	err = json.NewDecoder(response.Body).Decode(&list)
	return list.Metadata.ResourceVersion, err
}

func (r *Run) openWatch(ctx context.Context, client *http.Client, from string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+r.WatchPath+"&resourceVersion="+from, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("a watch was answered with %s", response.Status)
	}
	return response, nil
}

func (w *watcher) follow(response *http.Response) {
	defer response.Body.Close()
	lines := bufio.NewReaderSize(response.Body, 256<<10)
	marker := []byte(sentMarker)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			w.err = err
			return
		}
		now := time.Now()
		if at := bytes.Index(line, marker); at >= 0 {
			rest := line[at+len(marker):]
			if end := bytes.IndexByte(rest, '"'); end > 0 {
				if sent, err := strconv.ParseInt(string(rest[:end]), 10, 64); err == nil {
					w.latencies = append(w.latencies, now.Sub(time.Unix(0, sent)))
				}
			}
		}
		w.last = now
		w.events.Add(1)
	}
}

func allSaw(watchers []*watcher, want int64) bool {
	for _, w := range watchers {
		if w.events.Load() < want {
			return false
		}
	}
	return true
}

func delivered(result Result, watchers []*watcher, want int64, start time.Time) Result {
	var all []time.Duration
	last := start
	for _, w := range watchers {
		seen := w.events.Load()
		result.Events += seen
		result.Missed += max(0, want-seen)
		all = append(all, w.latencies...)
		if w.last.After(last) {
			last = w.last
		}
	}
	sortDurations(all)
	result.Seconds = last.Sub(start).Seconds()
	result.Rate = float64(result.Events) / result.Seconds
	result.EventP50, result.EventP99 = percentile(all, 0.5), percentile(all, 0.99)
	return result
}
