package main

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var resource = schema.GroupVersionResource{Group: "management.platform", Version: "v1", Resource: "ownedaccesskeys"}

// How a client keeps its connections: a balancer gives each one to another replica.
type kind int

const (
	// One connection for many requests at once, as client-go does by itself.
	shared kind = iota
	// Each request on a connection of its own.
	single
)

// answered is what client-go does not tell about a request.
type answered struct {
	sent  atomic.Bool
	code  atomic.Int32
	later atomic.Bool
}

type answeredKey struct{}

// telling looks at each answer, and takes Retry-After away: what client-go tries again by itself would be one operation that may have happened twice.
type telling struct{ next http.RoundTripper }

func (t telling) RoundTrip(request *http.Request) (*http.Response, error) {
	about, ok := request.Context().Value(answeredKey{}).(*answered)
	if !ok {
		return t.next.RoundTrip(request)
	}
	trace := &httptrace.ClientTrace{WroteHeaders: func() { about.sent.Store(true) }}
	response, err := t.next.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	if err == nil {
		about.code.Store(int32(response.StatusCode))
		about.later.Store(response.Header.Get("Retry-After") != "")
		response.Header.Del("Retry-After")
	}
	return response, err
}

func connect(config *rest.Config, how kind, token string) (dynamic.ResourceInterface, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: tls}
	if how == shared {
		transport.ForceAttemptHTTP2 = true
	} else {
		transport.DisableKeepAlives = true
	}
	own := &rest.Config{Host: config.Host, BearerToken: token, Transport: telling{transport}, QPS: -1}
	client, err := dynamic.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	return client.Resource(resource), nil
}

func tracing(ctx context.Context) (context.Context, *answered) {
	about := &answered{}
	return context.WithValue(ctx, answeredKey{}, about), about
}
