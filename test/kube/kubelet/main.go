// A kubelet for one node without pods: it serves exec, attach, port-forward and logs of any container at the kubelet's own paths,
// with the streaming library that real container runtimes use. A command of exec runs on this machine, attach sends back what
// arrives, a forwarded port is a port of this machine, and a log counts. As a hostile node would, it answers the command
// `redirect-to URL` with a redirect. As an aggregated API it serves one group: its discovery, and a redirect for ?to=URL. For tests
// alone: it asks nobody for a right.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

const (
	idleTimeout   = 4 * time.Hour
	streamTimeout = 30 * time.Second
	logEvery      = 50 * time.Millisecond
)

type node struct{}

func (node) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errOut io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if len(command) == 0 {
		return fmt.Errorf("exec: want a command, got none")
	}
	running := exec.CommandContext(ctx, command[0], command[1:]...)
	running.Stdin = in
	if out != nil {
		running.Stdout = out
	}
	if errOut != nil {
		running.Stderr = errOut
	}
	// A command that has ended does not wait for the end of its input.
	running.WaitDelay = 100 * time.Millisecond
	return running.Run()
}

func (node) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	if in == nil || out == nil {
		return fmt.Errorf("attach: want standard input and output")
	}
	_, err := io.Copy(out, in)
	return err
}

func (node) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer connection.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite()
		sent <- err
	}()
	if _, err := io.Copy(stream, connection); err != nil {
		return err
	}
	return <-sent
}

func logs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Transfer-Encoding", "chunked")
	follows := r.URL.Query().Get("follow") == "true"
	for line := 1; follows || line <= 3; line++ {
		if _, err := fmt.Fprintf(w, "line %d\n", line); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(logEvery):
		}
	}
}

func redirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusFound)
}

func aggregated(w http.ResponseWriter, r *http.Request) {
	if to := r.URL.Query().Get("to"); to != "" {
		redirect(w, to)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"redirect.example.com/v1","resources":[]}`)
}

// The container stands last in these paths; a pod's uid may stand before it.
func serve(w http.ResponseWriter, r *http.Request) {
	steps := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if steps[0] == "apis" {
		aggregated(w, r)
		return
	}
	if len(steps) < 3 {
		http.NotFound(w, r)
		return
	}
	pod, container := steps[2], steps[len(steps)-1]
	switch steps[0] {
	case "containerLogs":
		logs(w, r)
	case "portForward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, node{}, pod, "", options, idleTimeout, streamTimeout, portforward.SupportedProtocols)
	case "exec", "attach":
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if steps[0] == "attach" {
			remotecommand.ServeAttach(w, r, node{}, pod, "", container, options, idleTimeout, streamTimeout, remotecommand.SupportedStreamingProtocols)
			return
		}
		command := r.URL.Query()["command"]
		if len(command) == 2 && command[0] == "redirect-to" {
			redirect(w, command[1])
			return
		}
		remotecommand.ServeExec(w, r, node{}, pod, "", container, command, options, idleTimeout, streamTimeout, remotecommand.SupportedStreamingProtocols)
	default:
		http.NotFound(w, r)
	}
}

func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// Prints the port that it listens on.
func main() {
	pair, err := certificate()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("port %d\n", listener.Addr().(*net.TCPAddr).Port)
	// Streaming over SPDY takes the connection over, which HTTP/2 does not allow.
	server := http.Server{Handler: http.HandlerFunc(serve), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}}
	if err := server.ServeTLS(listener, "", ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
