package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Seen is what one answer says of one key.
type Seen struct {
	RV    uint64 `json:"rv"`
	UID   string `json:"uid"`
	Text  string `json:"text"`
	Label string `json:"label"`
}

// The results of an operation.
const (
	resultOK       = "ok"
	resultExists   = "exists"
	resultConflict = "conflict"
	resultAbsent   = "absent"
	resultExpired  = "expired"
	// The server said, or the connection proves, that nothing was done.
	resultRefused = "refused"
	// No answer, or one that leaves open what was done.
	resultUnknown = "unknown"
)

// Op is one operation of a client with its invocation and its response, in nanoseconds since the start.
type Op struct {
	Client int    `json:"client"`
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty"`
	// Preconditions.
	Pre    uint64 `json:"pre,omitempty"`
	PreUID string `json:"preUID,omitempty"`
	// What a write sets; an empty one leaves the field.
	Text   string `json:"text,omitempty"`
	Label  string `json:"label,omitempty"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"`
	Result string `json:"result"`
	// What was answered, where the result is none of the above.
	Said  string          `json:"said,omitempty"`
	Out   *Seen           `json:"out,omitempty"`
	Asked string          `json:"asked,omitempty"`
	Match string          `json:"match,omitempty"`
	Items map[string]Seen `json:"items,omitempty"`
	// Of a list.
	RV uint64 `json:"rv,omitempty"`
}

// Event is one event of a watch.
type Event struct {
	At   int64  `json:"at"`
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	Seen
}

// Stretch is what a watcher was told in one go: all of a list, or all since a resourceVersion, and the events after it.
type Stretch struct {
	Watcher string `json:"watcher"`
	// The first one of a stretch that begins with everything has the items, from a list or from the initial events.
	Whole  bool            `json:"whole"`
	Items  map[string]Seen `json:"items,omitempty"`
	From   uint64          `json:"from"`
	Opened int64           `json:"opened"`
	Events []Event         `json:"events"`
	End    string          `json:"end"`
}

// Note is something that was done to the servers.
type Note struct {
	At   int64  `json:"at"`
	What string `json:"what"`
}

// History is everything that the clients saw.
type History struct {
	mutex   sync.Mutex
	started time.Time
	// What was there before the first operation, and after the last one.
	First     *Op        `json:"first"`
	Ops       []*Op      `json:"ops"`
	Stretches []*Stretch `json:"stretches"`
	Notes     []Note     `json:"notes"`
	// What a client saw at once, whatever the rest of the history is.
	Faults []string `json:"faults,omitempty"`
	// The last revision that every watcher has to reach.
	Last uint64 `json:"last"`
}

func newHistory() *History { return &History{started: time.Now()} }

func (h *History) now() int64 { return time.Since(h.started).Nanoseconds() }

func (h *History) add(op *Op) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.Ops = append(h.Ops, op)
}

func (h *History) note(what string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.Notes = append(h.Notes, Note{h.now(), what})
}

func (h *History) fault(format string, arguments ...any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.Faults = append(h.Faults, fmt.Sprintf(format, arguments...))
}

func (h *History) open(watcher string, whole bool, from uint64, items map[string]Seen) *Stretch {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	stretch := &Stretch{Watcher: watcher, Whole: whole, From: from, Items: items, Opened: h.now()}
	h.Stretches = append(h.Stretches, stretch)
	return stretch
}

func (h *History) told(stretch *Stretch, event Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	event.At = h.now()
	stretch.Events = append(stretch.Events, event)
}

func (h *History) ended(stretch *Stretch, why string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	stretch.End = why
}

func (h *History) write(path string) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func readHistory(path string) (*History, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := newHistory()
	return h, json.Unmarshal(text, h)
}

func revision(text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

func seenOf(object *unstructured.Unstructured) Seen {
	text, _, _ := unstructured.NestedString(object.Object, "spec", "description")
	label := object.GetLabels()["round"]
	return Seen{revision(object.GetResourceVersion()), string(object.GetUID()), text, label}
}

// hides reports whether an object shows none of what is shown at a creation only.
func hides(object *unstructured.Unstructured) bool {
	_, shown, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "key")
	return !shown
}

// began notes what the initial events of a watch were, and the revision that they are of.
func (h *History) began(stretch *Stretch, at uint64, items map[string]Seen) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	stretch.From, stretch.Items = at, items
}
