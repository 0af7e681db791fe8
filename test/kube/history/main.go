// Command history lets many clients of client-go contend for a few keys of the management API, while whoever started it kills and
// freezes its replicas, and judges what they saw against a model that was written from the design alone: writes and newest reads are
// linearizable, watches have no gap, and a list is the state of its revision. It ends with 1 where it found a fault, or met too little.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	kubeconfig = flag.String("kubeconfig", "", "kubeconfig of the management API")
	clients    = flag.Int("clients", 6, "how many clients write and read")
	pace       = flag.Duration("pace", 25*time.Millisecond, "how long each of them waits on average")
	seed       = flag.Uint64("seed", 1, "of the random choices")
	record     = flag.String("record", "", "where to write the history")
	judgeFile  = flag.String("judge", "", "judge a history that was written before, and ask no server")
	plant      = flag.Bool("plant", false, "with -judge: put faults into the history, one after the other, and say which are found")
	patience   = flag.Duration("patience", 30*time.Second, "how long to judge one name, and to wait for the end")
)

func main() {
	flag.Parse()
	// Each creation says that its value is shown once.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	var err error
	switch {
	case *judgeFile != "" && *plant:
		err = plants(*judgeFile)
	case *judgeFile != "":
		var h *History
		if h, err = readHistory(*judgeFile); err == nil {
			err = tell(judge(h, *patience))
		}
	default:
		err = drive()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tell(v *Verdict) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	if len(v.Faults) > 0 {
		return fmt.Errorf("%d faults; the first one: %s", len(v.Faults), v.Faults[0])
	}
	if v.Conflicts == 0 || v.Unknown == 0 || v.Resumed == 0 {
		return fmt.Errorf("met %d conflicts, %d unknown outcomes and %d resumed watches: each must be met", v.Conflicts, v.Unknown, v.Resumed)
	}
	return nil
}

func drive() error {
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	main, err := connect(config, single, config.BearerToken)
	if err != nil {
		return err
	}
	h := newHistory()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	returners := []chan struct{}{make(chan struct{}, 100), make(chan struct{}, 100)}
	watchers, stores, err := watchAll(ctx, config, main, h, returners)
	if err != nil {
		return err
	}
	driving, rest := context.WithCancel(ctx)
	var running sync.WaitGroup
	for number := range *clients {
		keys, err := own(ctx, config, main, kind(number%2), fmt.Sprintf("driver-%d", number))
		if err != nil {
			rest()
			return err
		}
		running.Go(func() { newDriver(number, keys, h, *seed).run(driving, *pace) })
	}
	fmt.Fprintln(os.Stderr, "driving")
	notes := bufio.NewScanner(os.Stdin)
	for notes.Scan() && notes.Text() != "end" {
		h.note(notes.Text())
		for _, one := range returners {
			one <- struct{}{}
		}
	}
	rest()
	running.Wait()
	if err := finish(ctx, main, h, watchers, stores, returners); err != nil {
		return err
	}
	stop()
	if *record != "" {
		if err := h.write(*record); err != nil {
			return err
		}
	}
	return tell(judge(h, *patience))
}

// own makes a key for a client, because what one key may ask for is limited.
func own(ctx context.Context, config *rest.Config, main dynamic.ResourceInterface, how kind, name string) (dynamic.ResourceInterface, error) {
	object := manifest(name)
	_ = unstructured.SetNestedField(object.Object, "root", "spec", "user")
	made, err := main.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	value, _, _ := unstructured.NestedString(made.Object, "spec", "key")
	return connect(config, how, value)
}

// watchAll starts three watchers that go on all the time, those that come back when something has happened, and two reflectors.
func watchAll(ctx context.Context, config *rest.Config, main dynamic.ResourceInterface, h *History, returners []chan struct{}) ([]*watching, []cache.Store, error) {
	var all []*watching
	var stores []cache.Store
	start := func(name string, how kind) (*watching, error) {
		keys, err := own(ctx, config, main, how, name)
		if err != nil {
			return nil, err
		}
		w := newWatching(name, keys, h)
		all = append(all, w)
		return w, nil
	}
	for number := range 3 {
		w, err := start(fmt.Sprintf("resumer-%d", number), kind((number+1)%2))
		if err != nil {
			return nil, nil, err
		}
		go w.resume(ctx, *seed+uint64(number))
	}
	for number, happened := range returners {
		w, err := start(fmt.Sprintf("returner-%d", number), single)
		if err != nil {
			return nil, nil, err
		}
		go w.comeBack(ctx, happened)
	}
	for number, streams := range []bool{false, true} {
		w, err := start(fmt.Sprintf("reflector-%d", number), kind(number%2))
		if err != nil {
			return nil, nil, err
		}
		stores = append(stores, w.reflect(ctx, streams))
	}
	return all, stores, nil
}

// finish makes a last change, waits for every watcher to hear of it, and compares what all have then.
func finish(ctx context.Context, main dynamic.ResourceInterface, h *History, watchers []*watching, stores []cache.Store, returners []chan struct{}) error {
	deadline := time.Now().Add(*patience)
	var last *unstructured.Unstructured
	for last == nil {
		made, err := main.Create(ctx, manifest("the-end"), metav1.CreateOptions{})
		if err == nil {
			last = made
		} else if last, _ = main.Get(ctx, "the-end", metav1.GetOptions{}); time.Now().After(deadline) {
			return fmt.Errorf("the last key: %w", err)
		}
	}
	h.Last = revision(last.GetResourceVersion())
	for _, one := range returners {
		one <- struct{}{}
	}
	for _, w := range watchers {
		if !w.reaches(h.Last, time.Until(deadline)) {
			h.fault("%s was not told of the last change within %v", w.name, *patience)
		}
	}
	// A write without an answer may still arrive, so what differs is asked again.
	var differ error
	for time.Now().Before(deadline) {
		if differ = agree(ctx, main, h, stores); differ == nil {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	h.fault("at the end: %v", differ)
	return nil
}

// agree reports whether both replicas and all reflectors have the same keys.
func agree(ctx context.Context, main dynamic.ResourceInterface, h *History, stores []cache.Store) error {
	asker := newDriver(*clients, main, h, 0)
	var first map[string]Seen
	// Each connection goes to another replica than the one before.
	for range 4 {
		op := &Op{Kind: "list"}
		asker.do(ctx, op, func(ctx context.Context) (*unstructured.Unstructured, error) {
			return nil, asker.pages(ctx, op, metav1.ListOptions{})
		})
		if op.Result != resultOK {
			return fmt.Errorf("a list was answered %s: %s", op.Result, op.Said)
		}
		if first == nil {
			first = op.Items
		}
		if !maps.Equal(first, op.Items) {
			return fmt.Errorf("one replica has %v, and the other %v", first, op.Items)
		}
	}
	for n, store := range stores {
		held := map[string]Seen{}
		for _, object := range store.List() {
			held[object.(*unstructured.Unstructured).GetName()] = seenOf(object.(*unstructured.Unstructured))
		}
		if !maps.Equal(first, held) {
			return fmt.Errorf("reflector %d holds %v, and the server has %v", n, held, first)
		}
	}
	return nil
}
