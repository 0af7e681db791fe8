package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/watch"
)

// faults are what a server, or whatever stands between, could do wrong. Each one changes a history at its middle.
var faults = []struct {
	name string
	do   func(*History) bool
}{
	{"one watcher is not told of a change", func(h *History) bool { return alter(h, func(n int) []int { return []int{n - 1, n + 1} }, 1) }},
	{"no watcher is told of a change", func(h *History) bool {
		middle := acknowledged(h)
		for _, stretch := range h.Stretches {
			stretch.Events = slices.DeleteFunc(stretch.Events, func(event Event) bool { return event.RV == middle.Out.RV })
		}
		return true
	}},
	{"a change is told twice", func(h *History) bool { return alter(h, func(n int) []int { return []int{n - 1, n, n, n + 1} }, 1) }},
	{"two changes are told in the wrong order", func(h *History) bool { return alter(h, func(n int) []int { return []int{n, n - 1, n + 1} }, 1) }},
	{"a resumed watch begins one change late", func(h *History) bool {
		seen := map[string]bool{}
		for _, stretch := range h.Stretches[len(h.Stretches)/3:] {
			if seen[stretch.Watcher] && !stretch.Whole && len(stretch.Events) > 2 && stretch.Events[0].Type != string(watch.Bookmark) {
				stretch.Events = stretch.Events[1:]
				return true
			}
			seen[stretch.Watcher] = true
		}
		return false
	}},
	{"a GET is answered with an older state", func(h *History) bool {
		for n := len(h.Ops) / 2; n < len(h.Ops); n++ {
			for _, old := range h.Ops[:n] {
				op := h.Ops[n]
				if op.Kind == "get" && op.Out != nil && old.Out != nil && old.Name == op.Name && op.Call > old.Return && old.Out.RV < op.Out.RV && changedBetween(h, old, op) {
					seen := *old.Out
					op.Out = &seen
					return true
				}
			}
		}
		return false
	}},
	{"a GET says that a key is not there", func(h *History) bool {
		for _, op := range fromMiddle(h.Ops) {
			if op.Kind == "get" && op.Out != nil && livesOn(h, op) {
				op.Out, op.Result = nil, resultAbsent
				return true
			}
		}
		return false
	}},
	{"a list is one that was true before", func(h *History) bool {
		var old *Op
		for _, op := range h.Ops {
			if op.Kind != "list" || op.Result != resultOK || op.Asked != "" {
				continue
			}
			if old != nil && len(h.Ops) > 0 && op.Call > old.Return && changedBetween(h, old, op) {
				op.RV, op.Items = old.RV, old.Items
				return true
			}
			old = op
		}
		return false
	}},
	{"a list is without one key", func(h *History) bool {
		for _, op := range fromMiddle(h.Ops) {
			for _, name := range names {
				if _, ok := op.Items[name]; ok && op.Asked == "" {
					delete(op.Items, name)
					return true
				}
			}
		}
		return false
	}},
	{"a write was acknowledged that others never saw", func(h *History) bool {
		for _, op := range fromMiddle(h.Ops) {
			if op.Kind == "put" && op.Result == resultConflict && op.Pre != 0 {
				op.Result = resultOK
				op.Out = &Seen{op.Pre + 1, "nobody", op.Text, op.Label}
				return true
			}
		}
		return false
	}},
	{"a write that was refused took effect", func(h *History) bool {
		op := acknowledged(h)
		op.Result, op.Out = resultRefused, nil
		return true
	}},
	{"a write with a precondition overwrote a newer one", func(h *History) bool {
		for _, op := range fromMiddle(h.Ops) {
			if op.Kind == "put" && op.Result == resultOK && op.Pre != 0 {
				op.Pre--
				return true
			}
		}
		return false
	}},
}

// alter puts the events of one stretch in another order, around its middle.
func alter(h *History, order func(int) []int, around int) bool {
	for _, stretch := range slices.Concat(h.Stretches[len(h.Stretches)/2:], h.Stretches[:len(h.Stretches)/2]) {
		n := len(stretch.Events) / 2
		if n <= around || n+around >= len(stretch.Events) {
			continue
		}
		near := stretch.Events[n-around : n+around+1]
		if slices.ContainsFunc(near, func(event Event) bool { return event.Type == string(watch.Bookmark) }) {
			continue
		}
		var changed []Event
		for _, at := range order(n) {
			changed = append(changed, stretch.Events[at])
		}
		stretch.Events = slices.Concat(stretch.Events[:n-around], changed, stretch.Events[n+around+1:])
		return true
	}
	return false
}

// acknowledged is a write that a watcher was told of, who went on after it: one that nobody went through cannot be missed.
func acknowledged(h *History) *Op {
	all := fromMiddle(h.Ops)
	isPassed := func(rv uint64) bool {
		return slices.ContainsFunc(h.Stretches, func(stretch *Stretch) bool {
			at := slices.IndexFunc(stretch.Events, func(event Event) bool { return event.RV == rv })
			return at >= 0 && at < len(stretch.Events)-1
		})
	}
	return all[slices.IndexFunc(all, func(op *Op) bool { return op.Kind == "put" && op.Result == resultOK && isPassed(op.Out.RV) })]
}

// fromMiddle begins where most has happened before; what is before comes last, for a history that is poor in its second half.
func fromMiddle(ops []*Op) []*Op {
	return slices.Concat(ops[len(ops)/2:], ops[:len(ops)/2])
}

// changedBetween reports whether a write was acknowledged after one operation and before another.
func changedBetween(h *History, first, second *Op) bool {
	return slices.ContainsFunc(h.Ops, func(op *Op) bool {
		isSame := first.Name == "" || op.Name == first.Name
		return isSame && op.Kind == "put" && op.Result == resultOK && op.Call > first.Return && op.Return < second.Call
	})
}

// livesOn reports whether the key that was read was there before and after.
func livesOn(h *History, read *Op) bool {
	isSame := func(op *Op) bool { return op.Name == read.Name && op.Out != nil && op.Out.UID == read.Out.UID }
	before := func(op *Op) bool { return isSame(op) && op.Return < read.Call }
	after := func(op *Op) bool { return isSame(op) && op.Call > read.Return }
	return slices.ContainsFunc(h.Ops, before) && slices.ContainsFunc(h.Ops, after)
}

// plants judges the history with each fault, and prints the first words of what was found.
func plants(path string) error {
	whole, err := readHistory(path)
	if err != nil {
		return err
	}
	// Any fault would be found for each that is planted.
	if own := judge(whole, *patience).Faults; len(own) > 0 {
		return fmt.Errorf("the history has faults before one is planted, the first is: %s", own[0])
	}
	found := map[string]string{}
	var missed []string
	for _, fault := range faults {
		h, err := readHistory(path)
		if err != nil {
			return err
		}
		if !fault.do(h) {
			missed = append(missed, fault.name+" (nowhere to put it)")
			continue
		}
		verdict := judge(h, *patience)
		if len(verdict.Faults) == 0 {
			missed = append(missed, fault.name)
			continue
		}
		found[fault.name] = verdict.Faults[0]
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	if len(missed) > 0 {
		return fmt.Errorf("not found: %s", strings.Join(missed, "; "))
	}
	return nil
}
