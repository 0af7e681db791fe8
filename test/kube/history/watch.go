package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// watching records what one watcher lists and watches, whoever asks.
type watching struct {
	name    string
	keys    dynamic.ResourceInterface
	history *History
	// The highest revision that it was told, for the judge of the end.
	reached chan uint64
}

func newWatching(name string, keys dynamic.ResourceInterface, h *History) *watching {
	return &watching{name, keys, h, make(chan uint64, 100_000)}
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (w *watching) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := w.keys.List(ctx, options)
	if err != nil {
		return nil, err
	}
	items := map[string]Seen{}
	for i := range list.Items {
		items[list.Items[i].GetName()] = seenOf(&list.Items[i])
	}
	at := revision(list.GetResourceVersion())
	// The watch that follows begins here.
	w.history.ended(w.history.open(w.name, true, at, items), "listed")
	w.reached <- at
	return list, nil
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (w *watching) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	stream, err := w.keys.Watch(ctx, options)
	if err != nil {
		w.history.ended(w.history.open(w.name, true, 0, nil), string(apierrors.ReasonForError(err)))
		return nil, err
	}
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	told := &telltale{watching: w, stretch: w.history.open(w.name, initial, revision(options.ResourceVersion), nil)}
	if initial {
		told.items = map[string]Seen{}
	}
	return watch.Filter(stream, told.see), nil
}

// List implements cache.ListerWatcher.
func (w *watching) List(options metav1.ListOptions) (runtime.Object, error) {
	return w.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher.
func (w *watching) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return w.WatchWithContext(context.Background(), options)
}

type telltale struct {
	*watching
	stretch *Stretch
	// While the initial events come.
	items map[string]Seen
}

func (t *telltale) see(event watch.Event) (watch.Event, bool) {
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		t.history.ended(t.stretch, string(apierrors.ReasonForError(apierrors.FromObject(event.Object))))
		return event, true
	}
	seen := seenOf(object)
	switch {
	case event.Type == watch.Bookmark && t.items != nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true":
		t.history.began(t.stretch, seen.RV, t.items)
		t.items = nil
	case t.items != nil && event.Type == watch.Deleted:
		delete(t.items, object.GetName())
		return event, true
	case t.items != nil && event.Type != watch.Bookmark:
		t.items[object.GetName()] = seen
		return event, true
	case event.Type == watch.Bookmark:
		t.history.told(t.stretch, Event{Type: string(event.Type), Seen: Seen{RV: seen.RV}})
	default:
		if !hides(object) {
			t.history.fault("the watch %s was told the value of %s", t.name, object.GetName())
		}
		t.history.told(t.stretch, Event{Type: string(event.Type), Name: object.GetName(), Seen: seen})
	}
	t.reached <- seen.RV
	return event, true
}

// resume lists, and then watches with connections of random length, each from the revision that the one before has reached.
func (w *watching) resume(ctx context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1_000))
	for at := uint64(0); ctx.Err() == nil; {
		if at == 0 {
			at = w.lists(ctx)
			continue
		}
		at = w.follow(ctx, at, time.Duration(200+random.IntN(2_500))*time.Millisecond)
	}
}

// comeBack sleeps until something happens to a server, and then goes on from the revision that it had before, with more than one connection, so that
// the replica that was started again is among those that are asked.
func (w *watching) comeBack(ctx context.Context, happened <-chan struct{}) {
	at := uint64(0)
	for {
		for try := 0; try < 3 && at != 0; try++ {
			before := at
			if at = w.follow(ctx, before, 400*time.Millisecond); at != 0 && try < 2 {
				at = before
			}
		}
		for at == 0 && ctx.Err() == nil {
			at = w.lists(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-happened:
		}
	}
}

// lists returns the revision of a new list, or 0.
func (w *watching) lists(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	list, err := w.ListWithContext(ctx, metav1.ListOptions{})
	if err != nil {
		time.Sleep(100 * time.Millisecond)
		return 0
	}
	return revision(list.(*unstructured.UnstructuredList).GetResourceVersion())
}

// follow returns the revision to go on from, or 0 where only a list helps.
func (w *watching) follow(ctx context.Context, at uint64, length time.Duration) uint64 {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	options := metav1.ListOptions{ResourceVersion: strconv.FormatUint(at, 10), AllowWatchBookmarks: true}
	stream, err := w.WatchWithContext(ctx, options)
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return 0
		}
		time.Sleep(50 * time.Millisecond)
		return at
	}
	defer stream.Stop()
	for {
		select {
		case <-ctx.Done():
			return at
		case event, ok := <-stream.ResultChan():
			if !ok {
				return at
			}
			if event.Type == watch.Error {
				err := apierrors.FromObject(event.Object)
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					return 0
				}
				return at
			}
			at = revision(event.Object.(*unstructured.Unstructured).GetResourceVersion())
		}
	}
}

// A reflector asks with List alone, as client-go did before, or with a watch that begins with everything.
type oldFashioned struct{ *watching }

func (oldFashioned) IsWatchListSemanticsUnSupported() bool { return true }

// reflect runs what stands below every informer, and returns what it holds.
func (w *watching) reflect(ctx context.Context, streams bool) cache.Store {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	var source cache.ListerWatcher = w
	if !streams {
		source = oldFashioned{w}
	}
	// By default it waits for half a minute after some faults, which is longer than the test.
	backoff := &wait.Backoff{Duration: 200 * time.Millisecond, Cap: time.Second, Steps: 10, Factor: 1.5, Jitter: 0.2}
	options := cache.ReflectorOptions{Name: w.name, Backoff: backoff}
	go cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, store, options).RunWithContext(ctx)
	return store
}

// reaches waits until the watcher was told of a revision.
func (w *watching) reaches(last uint64, limit time.Duration) bool {
	deadline := time.After(limit)
	for {
		select {
		case at := <-w.reached:
			if at >= last {
				return true
			}
		case <-deadline:
			return false
		}
	}
}
