package main

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Verdict is what the program prints.
type Verdict struct {
	Operations int `json:"operations"`
	// Operations that were put in order, those of lists for each name.
	Judged    int            `json:"judged"`
	Results   map[string]int `json:"results"`
	Conflicts int            `json:"conflicts"`
	Unknown   int            `json:"unknown"`
	// Conflicts where no revision was asked for: the server gave up.
	NeedlessConflicts int `json:"needlessConflicts"`
	Watches           int `json:"watches"`
	Resumed           int `json:"resumed"`
	Relisted          int `json:"relisted"`
	Expired           int `json:"expired"`
	Events            int `json:"events"`
	Changes           int `json:"changes"`
	Lists             int `json:"lists"`
	// Lists of a revision that no watcher went through.
	ListsUnjudged int `json:"listsUnjudged"`
	Kills         int `json:"kills"`
	Freezes       int `json:"freezes"`
	HostRestarts  int `json:"hostRestarts"`
	// From the answer of a write until the last watcher was told, in milliseconds.
	LateMs map[string]int `json:"lateMs"`
	Faults []string       `json:"faults"`
}

func (v *Verdict) fault(format string, arguments ...any) {
	v.Faults = append(v.Faults, fmt.Sprintf(format, arguments...))
}

// chain is what one watcher knows without a gap: a whole state, and every change after it.
type chain struct {
	watcher string
	from    uint64
	reached uint64
	items   map[string]Seen
	events  []Event
}

func judge(h *History, limit time.Duration) *Verdict {
	v := &Verdict{Operations: len(h.Ops), Results: map[string]int{}, Faults: []string{}}
	v.Faults = append(v.Faults, h.Faults...)
	count(h, v)
	chains := chainsOf(h, v)
	log := logOf(chains, v)
	withoutGaps(chains, log, v)
	replays(chains, v)
	writesIn(h, chains, log, v)
	once(h, chains, v)
	lists(h, chains, v)
	ends(h, chains, v)
	lateness(h, chains, v)
	linearizable(h, v, limit)
	return v
}

func count(h *History, v *Verdict) {
	for _, op := range h.Ops {
		v.Results[op.Kind+" "+op.Result]++
		switch op.Result {
		case resultConflict, resultExists:
			v.Conflicts++
			if op.Result == resultConflict && op.Pre == 0 && op.PreUID == "" {
				v.NeedlessConflicts++
			}
		case resultUnknown:
			v.Unknown++
		case resultOK, resultAbsent, resultRefused, resultExpired:
		default:
			v.fault("%s: %s", describe(op), op.Said)
		}
	}
	for _, note := range h.Notes {
		switch strings.Fields(note.What)[0] {
		case "kill":
			v.Kills++
		case "freeze":
			v.Freezes++
		case "host":
			v.HostRestarts++
		}
	}
}

// chainsOf joins the stretches of each watcher, and looks at the order in each of them.
func chainsOf(h *History, v *Verdict) []*chain {
	var all []*chain
	open := map[string]*chain{}
	for _, stretch := range h.Stretches {
		now := open[stretch.Watcher]
		if stretch.End == string(metav1.StatusReasonExpired) || stretch.End == string(metav1.StatusReasonGone) {
			v.Expired++
		}
		if stretch.End != "listed" {
			v.Watches++
		}
		if stretch.Whole {
			if stretch.Items == nil {
				continue
			}
			if now != nil {
				v.Relisted++
			}
			now = &chain{watcher: stretch.Watcher, from: stretch.From, reached: stretch.From, items: stretch.Items}
			all = append(all, now)
			open[stretch.Watcher] = now
		} else if now == nil || stretch.From < now.from || stretch.From > now.reached {
			v.fault("%s watches from %d, where it never was", stretch.Watcher, stretch.From)
			continue
		} else {
			if len(now.events) > 0 {
				v.Resumed++
			}
			if stretch.From < now.reached {
				// What was told beyond that stays a chain of its own: the server told it, whether the client read it, asked for it once more, or not.
				kept := slices.DeleteFunc(slices.Clone(now.events), func(event Event) bool { return event.RV > stretch.From })
				now = &chain{watcher: now.watcher, from: now.from, reached: stretch.From, items: now.items, events: kept}
				all = append(all, now)
				open[stretch.Watcher] = now
			}
		}
		for _, event := range stretch.Events {
			isBookmark := event.Type == string(watch.Bookmark)
			if event.RV < now.reached || event.RV == now.reached && !isBookmark {
				v.fault("%s was told %s of %s at %d after %d", now.watcher, event.Type, event.Name, event.RV, now.reached)
			}
			now.reached = max(now.reached, event.RV)
			if !isBookmark {
				v.Events++
				now.events = append(now.events, event)
			}
		}
	}
	return all
}

// logOf is every change that anybody was told of, by revision.
func logOf(chains []*chain, v *Verdict) map[uint64]Event {
	log := map[uint64]Event{}
	for _, c := range chains {
		for _, event := range c.events {
			event.At = 0
			if other, ok := log[event.RV]; ok && other != event {
				v.fault("revision %d is %s %s %+v for %s, and %s %s %+v for another", event.RV, event.Type, event.Name, event.Seen, c.watcher, other.Type, other.Name, other.Seen)
			}
			log[event.RV] = event
		}
	}
	v.Changes = len(log)
	return log
}

func withoutGaps(chains []*chain, log map[uint64]Event, v *Verdict) {
	all := slices.Sorted(maps.Keys(log))
	for _, c := range chains {
		told := map[uint64]bool{}
		for _, event := range c.events {
			told[event.RV] = true
		}
		for _, at := range all {
			if at > c.from && at <= c.reached && !told[at] {
				v.fault("%s went from %d to %d, and never heard of %s %s at %d", c.watcher, c.from, c.reached, log[at].Type, log[at].Name, at)
			}
		}
	}
}

// replays follows each watcher as an informer does: what is added was not there, and what changes or goes was.
func replays(chains []*chain, v *Verdict) {
	for _, c := range chains {
		now := maps.Clone(c.items)
		for _, event := range c.events {
			before, there := now[event.Name]
			switch watch.EventType(event.Type) {
			case watch.Added:
				if there {
					v.fault("%s was told at %d that %s is added, which was there since %d", c.watcher, event.RV, event.Name, before.RV)
				}
				now[event.Name] = event.Seen
			case watch.Modified:
				if !there || before.UID != event.UID {
					v.fault("%s was told at %d that %s changed, which was not there", c.watcher, event.RV, event.Name)
				} else if before.Text == event.Text && before.Label == event.Label {
					v.fault("%s was told at %d that %s changed, and nothing differs from %d", c.watcher, event.RV, event.Name, before.RV)
				}
				now[event.Name] = event.Seen
			case watch.Deleted:
				if !there || before.UID != event.UID {
					v.fault("%s was told at %d that %s is deleted, which was not there", c.watcher, event.RV, event.Name)
				}
				delete(now, event.Name)
			}
		}
	}
}

// at is the state at a revision, or nil where nobody went through it.
func at(chains []*chain, rv uint64) map[string]Seen {
	for _, c := range chains {
		if rv < c.from || rv > c.reached {
			continue
		}
		now := maps.Clone(c.items)
		for _, event := range c.events {
			if event.RV > rv {
				break
			}
			if event.Type == string(watch.Deleted) {
				delete(now, event.Name)
			} else {
				now[event.Name] = event.Seen
			}
		}
		return now
	}
	return nil
}

func covered(chains []*chain, rv uint64) bool {
	return slices.ContainsFunc(chains, func(c *chain) bool { return rv > c.from && rv <= c.reached })
}

// writesIn looks for each write that was acknowledged among the changes, and for what was read too.
func writesIn(h *History, chains []*chain, log map[uint64]Event, v *Verdict) {
	check := func(who, name string, seen Seen) {
		event, ok := log[seen.RV]
		if !ok {
			if covered(chains, seen.RV) {
				v.fault("%s has %s at %d, of which no watcher was told", who, name, seen.RV)
			}
			return
		}
		if event.Name != name || event.Seen != seen || event.Type == string(watch.Deleted) {
			v.fault("%s has %s %+v, and the watchers were told %s %s %+v", who, name, seen, event.Type, event.Name, event.Seen)
		}
	}
	for _, op := range h.Ops {
		if op.Out != nil {
			check(describe(op), op.Name, *op.Out)
		}
		for name, seen := range op.Items {
			check(describe(op), name, seen)
		}
	}
}

// once looks whether a write took effect twice, or although it was refused.
func once(h *History, chains []*chain, v *Verdict) {
	makers := map[string]*Op{}
	for _, op := range h.Ops {
		if op.Kind == "create" || op.Kind == "put" || op.Kind == "merge" || op.Kind == "apply" {
			makers[op.Text+op.Label] = op
			makers[op.Text], makers[op.Label] = op, op
		}
	}
	made := map[string]map[uint64]bool{}
	for _, c := range chains {
		now := maps.Clone(c.items)
		for _, event := range c.events {
			if before := now[event.Name]; event.Text != "" && event.Type != string(watch.Deleted) && before.Text != event.Text {
				if made[event.Text] == nil {
					made[event.Text] = map[uint64]bool{}
				}
				made[event.Text][event.RV] = true
			}
			now[event.Name] = event.Seen
		}
	}
	for value, revisions := range made {
		maker := makers[value]
		if len(revisions) > 1 {
			v.fault("one write took effect at %v: %q", slices.Sorted(maps.Keys(revisions)), value)
		}
		if maker != nil && maker.Result != resultOK && maker.Result != resultUnknown {
			v.fault("a write that was refused took effect at %v: %s %s", slices.Sorted(maps.Keys(revisions)), describe(maker), maker.Said)
		}
	}
}

// lists looks whether each list is the state at its revision, and whether that holds what was acknowledged before.
func lists(h *History, chains []*chain, v *Verdict) {
	type acknowledged struct {
		at int64
		rv uint64
	}
	var known []acknowledged
	for _, op := range h.Ops {
		isFresh := op.Kind != "list" || op.Asked == ""
		switch {
		case op.Result != resultOK:
		case op.Out != nil:
			known = append(known, acknowledged{op.Return, op.Out.RV})
		case op.Kind == "list" && isFresh:
			known = append(known, acknowledged{op.Return, op.RV})
		}
	}
	sort.Slice(known, func(a, b int) bool { return known[a].at < known[b].at })
	highest := make([]uint64, len(known)+1)
	for n, one := range known {
		highest[n+1] = max(highest[n], one.rv)
	}
	for _, op := range h.Ops {
		if op.Kind != "list" || op.Result != resultOK {
			continue
		}
		v.Lists++
		asked, _ := strconv.ParseUint(op.Asked, 10, 64)
		before := highest[sort.Search(len(known), func(n int) bool { return known[n].at >= op.Call })]
		switch {
		case op.Asked == "" && op.RV < before:
			v.fault("%s is of revision %d, and %d was known before it was asked for", describe(op), op.RV, before)
		case op.Match == "Exact" && op.RV != asked, op.Asked != "0" && op.RV < asked:
			v.fault("%s asked for %s %d and has %d", describe(op), op.Match, asked, op.RV)
		}
		want := at(chains, op.RV)
		if want == nil {
			v.ListsUnjudged++
		} else if !maps.Equal(want, op.Items) {
			v.fault("%s is of revision %d, which had %v, and holds %v", describe(op), op.RV, want, op.Items)
		}
	}
}

func ends(h *History, chains []*chain, v *Verdict) {
	// Who comes back asks several times from one revision, and the time of the last connection may be over before it tells all.
	reached := map[string]uint64{}
	for _, c := range chains {
		reached[c.watcher] = max(reached[c.watcher], c.reached)
	}
	for name, at := range reached {
		if at < h.Last {
			v.fault("%s ended at %d, and the last change was at %d", name, at, h.Last)
		}
	}
}

func lateness(h *History, chains []*chain, v *Verdict) {
	answered := map[uint64]int64{}
	for _, op := range h.Ops {
		if op.Out != nil && op.Kind != "get" {
			answered[op.Out.RV] = op.Return
		}
	}
	var late []int
	for _, c := range chains {
		// These come back late by themselves.
		if strings.HasPrefix(c.watcher, "returner") {
			continue
		}
		for _, event := range c.events {
			if at, ok := answered[event.RV]; ok {
				late = append(late, int(max(0, event.At-at)/1e6))
			}
		}
	}
	sort.Ints(late)
	if n := len(late); n > 0 {
		v.LateMs = map[string]int{"p50": late[n/2], "p99": late[n*99/100], "max": late[n-1]}
	}
}
