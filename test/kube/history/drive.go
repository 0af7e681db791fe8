package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Longer than an answer takes, and shorter than a replica stands still.
const answerTime = 2 * time.Second

// Few, so that clients meet.
var names = []string{"meet-a", "meet-b", "meet-c", "meet-d"}

// driver is one client that does one operation after the other.
type driver struct {
	number  int
	keys    dynamic.ResourceInterface
	history *History
	random  *rand.Rand
	// What it last saw of each name, and the revision of its last list.
	last   map[string]Seen
	listed uint64
	writes int
}

func newDriver(number int, keys dynamic.ResourceInterface, h *History, seed uint64) *driver {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	return &driver{number: number, keys: keys, history: h, random: random, last: map[string]Seen{}}
}

func (d *driver) run(ctx context.Context, pace time.Duration) {
	for ctx.Err() == nil {
		// What is under way at the end gets its answer.
		d.step(context.WithoutCancel(ctx))
		time.Sleep(time.Duration(d.random.Int64N(int64(2 * pace))))
	}
}

func (d *driver) step(ctx context.Context) {
	name := names[d.random.IntN(len(names))]
	switch dice := d.random.IntN(100); {
	case dice < 16:
		d.create(ctx, name)
	case dice < 32:
		d.put(ctx, name, d.random.IntN(3) > 0)
	case dice < 46:
		d.merge(ctx, name, d.random.IntN(2) > 0)
	case dice < 52:
		d.apply(ctx, name)
	case dice < 64:
		d.remove(ctx, name, d.random.IntN(3))
	case dice < 82:
		d.get(ctx, name)
	default:
		d.list(ctx, d.random.IntN(6))
	}
}

// token is a value that no other write has.
func (d *driver) token() string {
	d.writes++
	return fmt.Sprintf("%d-%d", d.number, d.writes)
}

func manifest(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"user": "alice"}}}
	object.SetAPIVersion(resource.GroupVersion().String())
	object.SetKind("OwnedAccessKey")
	object.SetName(name)
	return object
}

func whole(name, token string) *unstructured.Unstructured {
	object := manifest(name)
	object.SetLabels(map[string]string{"round": token})
	_ = unstructured.SetNestedField(object.Object, token, "spec", "description")
	return object
}

// do asks, and notes the answer.
func (d *driver) do(ctx context.Context, op *Op, ask func(context.Context) (*unstructured.Unstructured, error)) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ctx, about := tracing(ctx)
	op.Client = d.number
	op.Call = d.history.now()
	object, err := ask(ctx)
	op.Return = d.history.now()
	op.Result, op.Said = judged(err, about)
	if op.Result == resultOK && object != nil {
		seen := seenOf(object)
		op.Out = &seen
		d.last[op.Name] = seen
		if op.Kind != "create" && op.Kind != "apply" && !hides(object) {
			d.history.fault("%s of %s answered with the value of the key", op.Kind, op.Name)
		}
	}
	d.history.add(op)
}

func judged(err error, about *answered) (string, string) {
	code := int(about.code.Load())
	switch {
	case err == nil:
		return resultOK, ""
	case apierrors.IsAlreadyExists(err):
		return resultExists, ""
	case apierrors.IsConflict(err):
		return resultConflict, ""
	case apierrors.IsNotFound(err):
		return resultAbsent, ""
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return resultExpired, ""
	case !about.sent.Load() || code == 429 || code == 503 && about.later.Load():
		return resultRefused, err.Error()
	case code == 0 || code >= 500 || code < 300:
		return resultUnknown, err.Error()
	}
	return "answered " + strconv.Itoa(code), err.Error()
}

func (d *driver) create(ctx context.Context, name string) {
	token := d.token()
	d.do(ctx, &Op{Kind: "create", Name: name, Text: token, Label: token}, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return d.keys.Create(ctx, whole(name, token), metav1.CreateOptions{})
	})
}

func (d *driver) put(ctx context.Context, name string, conditional bool) {
	token := d.token()
	object := whole(name, token)
	op := &Op{Kind: "put", Name: name, Text: token, Label: token}
	if conditional && d.last[name].RV != 0 {
		op.Pre = d.last[name].RV
		object.SetResourceVersion(strconv.FormatUint(op.Pre, 10))
	}
	d.do(ctx, op, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return d.keys.Update(ctx, object, metav1.UpdateOptions{})
	})
}

// merge changes one of the two fields, so that a write that forgets the other one is seen.
func (d *driver) merge(ctx context.Context, name string, text bool) {
	token := d.token()
	op := &Op{Kind: "merge", Name: name}
	patch := fmt.Sprintf(`{"metadata":{"labels":{"round":%q}}}`, token)
	op.Label = token
	if text {
		patch = fmt.Sprintf(`{"spec":{"description":%q}}`, token)
		op.Text, op.Label = token, ""
	}
	if d.random.IntN(4) == 0 && d.last[name].RV != 0 {
		op.Pre = d.last[name].RV
		patch = fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"spec":{"description":%q}}`, op.Pre, token)
		op.Text, op.Label = token, ""
	}
	d.do(ctx, op, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return d.keys.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	})
}

func (d *driver) apply(ctx context.Context, name string) {
	token := d.token()
	object := manifest(name)
	_ = unstructured.SetNestedField(object.Object, token, "spec", "description")
	options := metav1.ApplyOptions{FieldManager: fmt.Sprintf("client-%d", d.number), Force: true}
	d.do(ctx, &Op{Kind: "apply", Name: name, Text: token}, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return d.keys.Apply(ctx, name, object, options)
	})
}

func (d *driver) remove(ctx context.Context, name string, how int) {
	op := &Op{Kind: "delete", Name: name}
	options := metav1.DeleteOptions{}
	if last := d.last[name]; how > 0 && last.RV != 0 {
		options.Preconditions = &metav1.Preconditions{}
		if how == 1 {
			text := strconv.FormatUint(last.RV, 10)
			op.Pre, options.Preconditions.ResourceVersion = last.RV, &text
		} else {
			uid := types.UID(last.UID)
			op.PreUID, options.Preconditions.UID = last.UID, &uid
		}
	}
	d.do(ctx, op, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return nil, d.keys.Delete(ctx, name, options)
	})
}

func (d *driver) get(ctx context.Context, name string) {
	d.do(ctx, &Op{Kind: "get", Name: name}, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return d.keys.Get(ctx, name, metav1.GetOptions{})
	})
}

// list asks for the newest state, for any, for one not older than a revision, for that of a revision, or in pages.
func (d *driver) list(ctx context.Context, how int) {
	options := metav1.ListOptions{}
	at := strconv.FormatUint(d.listed, 10)
	switch {
	case how == 0:
		options.ResourceVersion = "0"
	case how == 1 && d.listed != 0:
		options.ResourceVersion, options.ResourceVersionMatch = at, metav1.ResourceVersionMatchNotOlderThan
	case how == 2 && d.listed != 0:
		options.ResourceVersion, options.ResourceVersionMatch = at, metav1.ResourceVersionMatchExact
	case how == 3:
		options.Limit = 2
	}
	op := &Op{Kind: "list", Asked: options.ResourceVersion, Match: string(options.ResourceVersionMatch)}
	d.do(ctx, op, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return nil, d.pages(ctx, op, options)
	})
	if op.Result == resultOK {
		d.listed = op.RV
	} else {
		op.Items, op.RV = nil, 0
	}
}

func (d *driver) pages(ctx context.Context, op *Op, options metav1.ListOptions) error {
	op.Items = map[string]Seen{}
	for {
		page, err := d.keys.List(ctx, options)
		if err != nil {
			return err
		}
		at := revision(page.GetResourceVersion())
		if op.RV != 0 && op.RV != at {
			d.history.fault("a page of a list is of revision %d, and the first one was of %d", at, op.RV)
		}
		op.RV = at
		for i := range page.Items {
			item := &page.Items[i]
			if _, twice := op.Items[item.GetName()]; twice {
				d.history.fault("a list at %d holds %s twice", at, item.GetName())
			}
			if !hides(item) {
				d.history.fault("a list at %d holds the value of %s", at, item.GetName())
			}
			op.Items[item.GetName()] = seenOf(item)
		}
		if page.GetContinue() == "" {
			return nil
		}
		options = metav1.ListOptions{Limit: options.Limit, Continue: page.GetContinue()}
	}
}
