package main

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// The model of one name, from the design alone: a key is there or not, and each change has a revision of its own above all before it.
// A state with revision 0 was made by a write without an answer.
type state struct {
	there bool
	seen  Seen
	// The highest revision that is known to lie behind.
	floor uint64
}

// bind puts what an answer says into what is known, or reports that they differ.
func (s state) bind(out Seen) (state, bool) {
	if !s.there || s.seen.Text != out.Text || s.seen.Label != out.Label {
		return s, false
	}
	if s.seen.RV != 0 && s.seen.RV != out.RV || s.seen.UID != "" && s.seen.UID != out.UID {
		return s, false
	}
	if s.seen.RV == 0 && out.RV <= s.floor {
		return s, false
	}
	s.seen, s.floor = out, out.RV
	return s, true
}

// after is the state that a write makes of another.
func (s state) after(op *Op) state {
	next := state{there: true, floor: s.floor, seen: Seen{Text: op.Text, Label: op.Label}}
	if s.there && op.Kind != "create" {
		next.seen.UID = s.seen.UID
	}
	if s.there && (op.Kind == "merge" || op.Kind == "apply") {
		if op.Text == "" {
			next.seen.Text = s.seen.Text
		}
		if op.Label == "" {
			next.seen.Label = s.seen.Label
		}
	}
	if op.Kind == "delete" {
		return state{floor: s.floor}
	}
	return next
}

// fits reports whether the preconditions of a write may hold.
func (s state) fits(op *Op) bool {
	if op.Pre != 0 && (!s.there || s.seen.RV != 0 && s.seen.RV != op.Pre || s.seen.RV == 0 && op.Pre <= s.floor) {
		return false
	}
	return op.PreUID == "" || s.there && (s.seen.UID == "" || s.seen.UID == op.PreUID)
}

// mustFit reports whether the preconditions certainly hold.
func (s state) mustFit(op *Op) bool {
	return s.there && (op.Pre == 0 || s.seen.RV == op.Pre) && (op.PreUID == "" || s.seen.UID == op.PreUID)
}

// applies reports whether a write may change this state.
func (s state) applies(op *Op) bool {
	switch op.Kind {
	case "create":
		return !s.there
	case "apply":
		return true
	}
	return s.there && s.fits(op)
}

func step(from any, input any, _ any) []any {
	s, op := from.(state), input.(*Op)
	stays := func(is bool) []any {
		if is {
			return []any{s}
		}
		return nil
	}
	switch op.Result {
	case resultAbsent:
		return stays(!s.there)
	case resultExists:
		return stays(s.there && op.Kind == "create")
	case resultConflict:
		// Without a precondition it means that others were quicker too often.
		return stays((op.Pre == 0 && op.PreUID == "") || !s.mustFit(op))
	case resultOK:
		return s.done(op)
	}
	if !s.applies(op) {
		return []any{s}
	}
	return []any{s, s.after(op)}
}

func (s state) done(op *Op) []any {
	if op.Kind == "get" {
		if op.Out == nil {
			return nil
		}
		if bound, ok := s.bind(*op.Out); ok {
			return []any{bound}
		}
		return nil
	}
	if !s.applies(op) {
		return nil
	}
	next := s.after(op)
	if op.Kind == "delete" {
		return []any{next}
	}
	if op.Out == nil || op.Out.RV <= s.floor {
		return nil
	}
	if bound, ok := next.bind(*op.Out); ok {
		return []any{bound}
	}
	return nil
}

// linearizable judges each name by itself.
func linearizable(h *History, v *Verdict, limit time.Duration) {
	byName := map[string][]*Op{}
	for _, op := range h.Ops {
		for _, one := range perName(op) {
			byName[one.Name] = append(byName[one.Name], one)
		}
	}
	shown := firstShown(h)
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: step,
	}
	checked := model.ToModel()
	for _, name := range names {
		var history []porcupine.Operation
		for _, op := range byName[name] {
			history = append(history, porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Return: returned(op, shown)})
		}
		v.Judged += len(history)
		result, info := porcupine.CheckOperationsVerbose(checked, history, limit)
		if result == porcupine.Ok {
			continue
		}
		if result == porcupine.Unknown {
			v.fault("nobody could tell within %v whether %s is linearizable", limit, name)
			continue
		}
		v.fault("%s is not linearizable: %s", name, where(history, info))
	}
}

// perName takes a list of the newest state apart into reads of names. What may be old, was refused, or was a read without an answer says nothing.
func perName(op *Op) []*Op {
	isRead := op.Kind == "get" || op.Kind == "list"
	if op.Result == resultRefused || op.Result == resultExpired || isRead && op.Result == resultUnknown {
		return nil
	}
	if op.Kind != "list" {
		return []*Op{op}
	}
	if op.Asked != "" || op.Result != resultOK {
		return nil
	}
	var all []*Op
	for _, name := range names {
		one := &Op{Client: op.Client, Kind: "get", Name: name, Call: op.Call, Return: op.Return, Result: resultAbsent}
		if seen, ok := op.Items[name]; ok {
			one.Result, one.Out = resultOK, &seen
		}
		all = append(all, one)
	}
	return all
}

// firstShown is when somebody saw a value first: the write without an answer that made it was over by then.
func firstShown(h *History) map[string]int64 {
	first := map[string]int64{}
	show := func(at int64, seen Seen) {
		for _, value := range []string{seen.Text, seen.Label} {
			if before, ok := first[value]; !ok || at < before {
				first[value] = at
			}
		}
	}
	for _, op := range h.Ops {
		if op.Out != nil {
			show(op.Return, *op.Out)
		}
		for _, seen := range op.Items {
			show(op.Return, seen)
		}
	}
	for _, stretch := range h.Stretches {
		for _, event := range stretch.Events {
			show(event.At, event.Seen)
		}
	}
	return first
}

func returned(op *Op, shown map[string]int64) int64 {
	if op.Result != resultUnknown {
		return op.Return
	}
	for _, value := range []string{op.Text, op.Label} {
		if at, ok := shown[value]; ok && value != "" {
			return max(at, op.Call)
		}
	}
	return math.MaxInt64
}

// where names the operations after the longest part that could be put in order.
func where(history []porcupine.Operation, info porcupine.LinearizationInfo) string {
	longest := []int{}
	for _, some := range info.PartialLinearizations() {
		for _, one := range some {
			if len(one) > len(longest) {
				longest = one
			}
		}
	}
	placed := map[int]bool{}
	for _, at := range longest {
		placed[at] = true
	}
	var rest []*Op
	for at, operation := range history {
		if !placed[at] {
			rest = append(rest, operation.Input.(*Op))
		}
	}
	sort.Slice(rest, func(a, b int) bool { return rest[a].Return < rest[b].Return })
	lines := []string{fmt.Sprintf("%d of %d operations have an order", len(longest), len(history))}
	for _, at := range longest[max(0, len(longest)-4):] {
		lines = append(lines, "then "+describe(history[at].Input.(*Op)))
	}
	for _, op := range rest[:min(4, len(rest))] {
		lines = append(lines, "never "+describe(op))
	}
	return strings.Join(lines, "; ")
}

func describe(op *Op) string {
	text := fmt.Sprintf("[%.3f-%.3f] client %d %s", float64(op.Call)/1e9, float64(op.Return)/1e9, op.Client, op.Kind)
	if op.Text != "" || op.Label != "" {
		text += fmt.Sprintf(" text %q label %q", op.Text, op.Label)
	}
	if op.Pre != 0 {
		text += fmt.Sprintf(" if %d", op.Pre)
	}
	if op.PreUID != "" {
		text += " if uid " + op.PreUID
	}
	text += ": " + op.Result
	if op.Out != nil {
		text += fmt.Sprintf(" %d %q %q", op.Out.RV, op.Out.Text, op.Out.Label)
	}
	return text
}
