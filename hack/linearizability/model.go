package main

import "github.com/anishathalye/porcupine"

// Verbs of operations. An apply creates the object or changes it.
const (
	get    = "get"
	create = "create"
	update = "update"
	patch  = "patch"
	apply  = "apply"
	status = "status"
	remove = "delete"
)

// Outcomes of operations.
const (
	ok       = "ok"
	missing  = "missing"  // there is no such object
	exists   = "exists"   // there is one already
	conflict = "conflict" // the object has another revision than Base
	refused  = "refused"  // the server did nothing, for another reason
	unknown  = "unknown"  // no answer: it happened, happens later, or never
)

var verbs = map[string]bool{get: true, create: true, update: true, patch: true, apply: true, status: true, remove: true}
var outcomes = map[string]bool{ok: true, missing: true, exists: true, conflict: true, refused: true, unknown: true}

// Operation is one request about an object. Call and Return are times of one clock. Value is what it writes: the value of
// spec, or of status for the verb status; a get has the two that it read in Value and Status. Base is the revision that an
// update expects. Revision is the one in the answer, 0 without one.
type Operation struct {
	Object   string `json:"object"`
	Client   int    `json:"client"`
	Verb     string `json:"verb"`
	Outcome  string `json:"outcome"`
	Call     int64  `json:"call"`
	Return   int64  `json:"return"`
	Base     int64  `json:"base,omitempty"`
	Value    int64  `json:"value,omitempty"`
	Status   int64  `json:"status,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

func (o Operation) known() bool { return verbs[o.Verb] && outcomes[o.Outcome] }

// object is the state of one object. Its revision is 0 after a write without an answer. It may grow without a write of the
// clients: a migration stores the same values again.
type object struct {
	Exists   bool
	Revision int64
	Value    int64
	Status   int64
	Floor    int64 // the highest known revision before it
}

var model = porcupine.Model{
	Init: func() interface{} { return object{} },
	Step: func(state, input, _ interface{}) (bool, interface{}) { return step(state.(object), input.(Operation)) },
}

// step reports whether an operation explains its outcome in a state, and returns the state after it.
func step(before object, op Operation) (bool, object) {
	switch op.Outcome {
	case missing:
		return !before.Exists, before
	case exists:
		return before.Exists, before
	case conflict:
		return before.Exists, before
	case refused:
		return true, before
	case unknown:
		return true, afterUnknown(before, op)
	}
	if op.Verb == get {
		return observe(before, op)
	}
	if !possible(before, op) {
		return false, before
	}
	if op.Verb == remove {
		return true, object{Floor: before.floor()}
	}
	if op.Revision <= before.floor() {
		return false, before
	}
	return true, written(before, op)
}

// observe explains a read, which tells the present revision.
func observe(before object, op Operation) (bool, object) {
	same := before.Exists && before.Value == op.Value && before.Status == op.Status
	if !same || op.Revision < before.Revision || before.Revision == 0 && op.Revision <= before.Floor {
		return false, before
	}
	before.Revision = op.Revision
	return true, before
}

// possible reports whether a write can succeed in a state.
func possible(before object, op Operation) bool {
	switch op.Verb {
	case create:
		return !before.Exists
	case apply:
		return true
	case update:
		return before.Exists && (before.Revision == op.Base || before.Revision == 0 && op.Base > before.Floor)
	}
	return before.Exists
}

func afterUnknown(before object, op Operation) object {
	if op.Verb == get || !possible(before, op) {
		return before
	}
	if op.Verb == remove {
		return object{Floor: before.floor()}
	}
	op.Revision = 0
	return written(before, op)
}

// written returns the state after a write; a created object has no status.
func written(before object, op Operation) object {
	after := object{Exists: true, Revision: op.Revision, Floor: before.floor()}
	if before.Exists {
		after.Value, after.Status = before.Value, before.Status
	}
	if op.Verb == status {
		after.Status = op.Value
	} else {
		after.Value = op.Value
	}
	return after
}

func (o object) floor() int64 { return max(o.Floor, o.Revision) }
