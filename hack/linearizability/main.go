// Command linearizability checks the recorded history of objects of an API server. It reads operations from standard
// input, one JSON object a line, and prints its findings as one JSON object. Each object of the server is a register:
// its history is linearizable if the operations can be put in an order that respects time and explains every answer.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// Findings is what a check found. Illegal and Undecided name objects; the check of an undecided one took too long.
type Findings struct {
	Operations int                    `json:"operations"`
	Objects    int                    `json:"objects"`
	Illegal    map[string][]Operation `json:"illegal"`
	Undecided  []string               `json:"undecided"`
}

// maxLine bounds one operation in bytes.
const maxLine = 1 << 20

func main() {
	patience := flag.Duration("timeout", time.Minute, "give up on one object after this time")
	flag.Parse()
	histories, count, err := read()
	if err != nil {
		fmt.Fprintln(os.Stderr, "linearizability:", err)
		os.Exit(1)
	}
	found := Findings{Operations: count, Objects: len(histories), Illegal: map[string][]Operation{}, Undecided: []string{}}
	for name, history := range histories {
		switch porcupine.CheckOperationsTimeout(model, history, *patience) {
		case porcupine.Illegal:
			found.Illegal[name] = inOrder(history)
		case porcupine.Unknown:
			found.Undecided = append(found.Undecided, name)
		}
	}
	sort.Strings(found.Undecided)
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, "linearizability:", err)
		os.Exit(1)
	}
}

// read returns the operations of each object, and their number.
func read() (map[string][]porcupine.Operation, int, error) {
	histories, count := map[string][]porcupine.Operation{}, 0
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var one Operation
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", count+1, err)
		}
		if !one.known() {
			return nil, 0, fmt.Errorf("line %d: unknown verb %q or outcome %q", count+1, one.Verb, one.Outcome)
		}
		end := one.Return
		if one.Outcome == unknown {
			end = math.MaxInt64 // It may still happen.
		}
		operation := porcupine.Operation{ClientId: one.Client, Input: one, Call: one.Call, Output: one, Return: end}
		histories[one.Object] = append(histories[one.Object], operation)
		count++
	}
	return histories, count, lines.Err()
}

func inOrder(history []porcupine.Operation) []Operation {
	found := make([]Operation, len(history))
	for i, one := range history {
		found[i] = one.Input.(Operation)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Call < found[j].Call })
	return found
}
