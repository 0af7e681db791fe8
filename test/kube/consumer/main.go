// Command consumer reads EndpointSlices as a data plane does: client-go's informer feeds kube-proxy's own EndpointsChangeTracker, and
// every change is merged into kube-proxy's map of endpoints. It prints one line for each address that appears in that map: the time
// in microseconds since 1970, and the address.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/proxy"
)

// consumer is called by the informer's one goroutine only.
type consumer struct {
	tracker   *proxy.EndpointsChangeTracker
	endpoints proxy.EndpointsMap
	out       *bufio.Writer
}

func main() {
	path := flag.String("kubeconfig", "", "kubeconfig of the host cluster")
	namespace := flag.String("namespace", "", "namespace of the slices")
	flag.Parse()
	if err := run(*path, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	made := &consumer{endpoints: proxy.EndpointsMap{}, out: bufio.NewWriter(os.Stdout)}
	made.tracker = proxy.NewEndpointsChangeTracker(v1.IPv4Protocol, "", nil, made.appeared)
	// Without a resync nothing but the cluster causes a call.
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Discovery().V1().EndpointSlices().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(slice any) { made.take(slice, false) },
		UpdateFunc: func(_, slice any) { made.take(slice, false) },
		DeleteFunc: func(slice any) { made.take(slice, true) },
	}); err != nil {
		return err
	}
	ctx := context.Background()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	fmt.Fprintln(os.Stderr, "synced")
	<-ctx.Done()
	return nil
}

func (c *consumer) take(object any, isRemoved bool) {
	if gone, isTombstone := object.(cache.DeletedFinalStateUnknown); isTombstone {
		object = gone.Obj
	}
	if slice, isSlice := object.(*discovery.EndpointSlice); isSlice && c.tracker.EndpointSliceUpdate(slice, isRemoved) {
		c.endpoints.Update(c.tracker)
		c.out.Flush()
	}
}

func (c *consumer) appeared(before, after proxy.EndpointsMap) {
	now := time.Now().UnixMicro()
	known := map[string]bool{}
	for _, endpoints := range before {
		for _, endpoint := range endpoints {
			known[endpoint.IP()] = true
		}
	}
	for _, endpoints := range after {
		for _, endpoint := range endpoints {
			if !known[endpoint.IP()] {
				fmt.Fprintf(c.out, "%d %s\n", now, endpoint.IP())
			}
		}
	}
}
