// Command client uses the management API as programs in Go do: discovery, typed and dynamic clients, informers, patches, apply,
// reviews, pages and watches by resourceVersion. It prints the name of each step that held and ends with 1 at the first that did not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

var resource = groupVersion.WithResource("ownedaccesskeys")

// Longer than any step takes on a busy machine.
const stepTime = 20 * time.Second

type clients struct {
	config  *rest.Config
	dynamic dynamic.ResourceInterface
	whole   dynamic.Interface
	typed   *rest.RESTClient
	seen    chan string
}

func main() {
	path := flag.String("kubeconfig", "", "kubeconfig of the management API")
	flag.Parse()
	steps := []struct {
		name string
		run  func(context.Context, *clients) error
	}{
		{"discovery finds the kind", discovers},
		{"an informer is in step", informs},
		{"a typed create returns the value once", createsTyped},
		{"a dynamic create is checked", createsDynamic},
		{"three patches change it", patches},
		{"apply owns fields, and conflicts", applies},
		{"an update with an old version conflicts, and is tried again", updates},
		{"reviews answer in JSON and protobuf", reviews},
		{"pages hold every key once", pages},
		{"a watch goes on from a resourceVersion", watches},
		{"nobody acts for another user", impersonates},
		{"a delete reaches the informer", deletes},
	}
	c, err := connect(*path)
	for _, step := range steps {
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), stepTime)
			err = step.run(ctx, c)
			cancel()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", step.name, err)
			os.Exit(1)
		}
		fmt.Println(step.name)
	}
}

func connect(path string) (*clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	whole, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	typed := rest.CopyConfig(config)
	typed.GroupVersion = &groupVersion
	typed.APIPath = "/apis"
	typed.NegotiatedSerializer = serializer.NewCodecFactory(newScheme()).WithoutConversion()
	client, err := rest.RESTClientFor(typed)
	if err != nil {
		return nil, err
	}
	return &clients{config, whole.Resource(resource), whole, client, make(chan string, 100)}, nil
}

func want(is bool, format string, arguments ...any) error {
	if is {
		return nil
	}
	return fmt.Errorf(format, arguments...)
}

func discovers(_ context.Context, c *clients) error {
	client, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return err
	}
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(groupVersion.WithKind("OwnedAccessKey").GroupKind(), "v1")
	if err != nil {
		return err
	}
	if _, err := client.OpenAPISchema(); err != nil {
		return fmt.Errorf("OpenAPI v2: %w", err)
	}
	return want(mapping.Resource == resource && mapping.Scope.Name() == "root", "found %v in scope %v", mapping.Resource, mapping.Scope.Name())
}

func informs(ctx context.Context, c *clients) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.whole, 0)
	informer := factory.ForResource(resource).Informer()
	tell := func(what string, object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		c.seen <- what + " " + object.(*unstructured.Unstructured).GetName()
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("updated", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	})
	if err != nil {
		return err
	}
	// It runs as long as the program does.
	factory.Start(make(chan struct{}))
	return want(cache.WaitForCacheSync(ctx.Done(), informer.HasSynced), "the informer never had the whole list")
}

func (c *clients) hears(ctx context.Context, wanted string) error {
	for {
		select {
		case got := <-c.seen:
			if got == wanted {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("the informer never told %q", wanted)
		}
	}
}

func createsTyped(ctx context.Context, c *clients) error {
	key := &OwnedAccessKey{
		ObjectMeta: metav1.ObjectMeta{Name: "typed"},
		Spec:       KeySpec{DisplayName: "Go", User: "alice", TTL: 3600},
	}
	key.SetGroupVersionKind(groupVersion.WithKind("OwnedAccessKey"))
	made := &OwnedAccessKey{}
	if err := c.typed.Post().Resource("ownedaccesskeys").Body(key).Do(ctx).Into(made); err != nil {
		return err
	}
	read := &OwnedAccessKey{}
	if err := c.typed.Get().Resource("ownedaccesskeys").Name("typed").Do(ctx).Into(read); err != nil {
		return err
	}
	if err := want(strings.HasPrefix(made.Spec.Key, "mpk_") && read.Spec.Key == "" && read.Spec.TTL == 3600, "made %d letters, read %d", len(made.Spec.Key), len(read.Spec.Key)); err != nil {
		return err
	}
	// The new key works at once, for a client of its own.
	own := rest.CopyConfig(c.config)
	own.BearerToken, own.BearerTokenFile = made.Spec.Key, ""
	client, err := dynamic.NewForConfig(own)
	if err != nil {
		return err
	}
	if _, err := client.Resource(resource).Get(ctx, "typed", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("with the new key: %w", err)
	}
	return c.hears(ctx, "added typed")
}

func manifest(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(),
		"kind":       "OwnedAccessKey",
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}}
}

func createsDynamic(ctx context.Context, c *clients) error {
	spec := map[string]any{"user": "alice", "displayName": "before"}
	if _, err := c.dynamic.Create(ctx, manifest("dynamic", spec), metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := c.dynamic.Create(ctx, manifest("dynamic", spec), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the same name again: %v", err)
	}
	_, err = c.dynamic.Create(ctx, manifest("bad", map[string]any{"ttl": int64(-1), "type": "Robot"}), metav1.CreateOptions{})
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || len(status.Status().Details.Causes) != 2 {
		return fmt.Errorf("two faults: %v", err)
	}
	_, err = c.dynamic.Create(ctx, manifest("dry", spec), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("dry run: %w", err)
	}
	_, err = c.dynamic.Get(ctx, "dry", metav1.GetOptions{})
	return want(apierrors.IsNotFound(err), "after a dry run: %v", err)
}

func patches(ctx context.Context, c *clients) error {
	for _, patch := range []struct {
		kind types.PatchType
		text string
	}{
		{types.JSONPatchType, `[{"op":"replace","path":"/spec/displayName","value":"json"}]`},
		{types.MergePatchType, `{"spec":{"displayName":"merge"}}`},
		{types.StrategicMergePatchType, `{"spec":{"displayName":"strategic"}}`},
	} {
		got, err := c.dynamic.Patch(ctx, "dynamic", patch.kind, []byte(patch.text), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", patch.kind, err)
		}
		name, _, _ := unstructured.NestedString(got.Object, "spec", "displayName")
		if err := want(strings.Contains(patch.text, name), "%s: the name is %q", patch.kind, name); err != nil {
			return err
		}
		if err := c.hears(ctx, "updated dynamic"); err != nil {
			return err
		}
	}
	return nil
}

func applies(ctx context.Context, c *clients) error {
	spec := map[string]any{"user": "alice", "displayName": "first"}
	options := func(manager string, force bool) metav1.ApplyOptions {
		return metav1.ApplyOptions{FieldManager: manager, Force: force}
	}
	if _, err := c.dynamic.Apply(ctx, "applied", manifest("applied", spec), options("first", false)); err != nil {
		return err
	}
	spec = map[string]any{"displayName": "second"}
	_, err := c.dynamic.Apply(ctx, "applied", manifest("applied", spec), options("second", false))
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.displayName") {
		return fmt.Errorf("a field of another manager: %v", err)
	}
	got, err := c.dynamic.Apply(ctx, "applied", manifest("applied", spec), options("second", true))
	if err != nil {
		return err
	}
	again, err := c.dynamic.Apply(ctx, "applied", manifest("applied", spec), options("second", true))
	if err != nil {
		return err
	}
	return want(got.GetResourceVersion() == again.GetResourceVersion() && len(got.GetManagedFields()) == 2, "an equal apply changed the key")
}

func updates(ctx context.Context, c *clients) error {
	old, err := c.dynamic.Get(ctx, "dynamic", metav1.GetOptions{})
	if err != nil {
		return err
	}
	change := func(object *unstructured.Unstructured, text string) error {
		if err := unstructured.SetNestedField(object.Object, text, "spec", "description"); err != nil {
			return err
		}
		_, err := c.dynamic.Update(ctx, object, metav1.UpdateOptions{})
		return err
	}
	if err := change(old.DeepCopy(), "one"); err != nil {
		return err
	}
	if err := change(old.DeepCopy(), "two"); !apierrors.IsConflict(err) {
		return fmt.Errorf("an old version: %v", err)
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := c.dynamic.Get(ctx, "dynamic", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return change(now, "three")
	})
}

func reviews(ctx context.Context, c *clients) error {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		config := rest.CopyConfig(c.config)
		config.ContentType = contentType
		config.AcceptContentTypes = contentType + ",application/json"
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: groupVersion.Group, Resource: "ownedaccesskeys"},
		}}
		got, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", contentType, err)
		}
		if err := want(got.Status.Allowed, "%s: not allowed, %s", contentType, got.Status.Reason); err != nil {
			return err
		}
	}
	return nil
}

func pages(ctx context.Context, c *clients) error {
	for i := range 5 {
		if _, err := c.dynamic.Create(ctx, manifest(fmt.Sprintf("page-%d", i), map[string]any{"user": "bob"}), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return c.dynamic.List(ctx, options)
	}))
	list.PageSize = 2
	count := map[string]int{}
	err := list.EachListItem(ctx, metav1.ListOptions{FieldSelector: "spec.user=bob"}, func(object runtime.Object) error {
		count[object.(*unstructured.Unstructured).GetName()]++
		return nil
	})
	if err != nil {
		return err
	}
	return want(len(count) == 5 && count["page-0"] == 1 && count["page-4"] == 1, "the pages held %v", count)
}

func watches(ctx context.Context, c *clients) error {
	list, err := c.dynamic.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	patch := []byte(`{"metadata":{"labels":{"seen":"yes"}}}`)
	if _, err := c.dynamic.Patch(ctx, "page-1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := c.dynamic.Delete(ctx, "page-2", metav1.DeleteOptions{}); err != nil {
		return err
	}
	stream, err := c.dynamic.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer stream.Stop()
	for _, wanted := range []string{string(watch.Modified) + " page-1", string(watch.Deleted) + " page-2"} {
		select {
		case event := <-stream.ResultChan():
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok || string(event.Type)+" "+object.GetName() != wanted {
				return fmt.Errorf("wanted %s, got %v", wanted, event)
			}
		case <-ctx.Done():
			return fmt.Errorf("never heard %s", wanted)
		}
	}
	return nil
}

func impersonates(ctx context.Context, c *clients) error {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "bob"}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.Resource(resource).List(ctx, metav1.ListOptions{})
	return want(apierrors.IsForbidden(err), "as bob: %v", err)
}

func deletes(ctx context.Context, c *clients) error {
	uid := types.UID("another")
	err := c.dynamic.Delete(ctx, "dynamic", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("with another uid: %v", err)
	}
	foreground := metav1.DeletePropagationForeground
	if err := c.dynamic.Delete(ctx, "dynamic", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		return err
	}
	if err := c.hears(ctx, "deleted dynamic"); err != nil {
		return err
	}
	_, err = c.dynamic.Get(ctx, "dynamic", metav1.GetOptions{})
	return want(apierrors.IsNotFound(err), "after the delete: %v", err)
}
