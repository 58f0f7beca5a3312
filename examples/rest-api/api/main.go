// A REST API over a collection of products in a database that speaks MongoDB's wire protocol.
//
//	api -listen 127.0.0.1:9080 -database mongodb://127.0.0.1:27017 -seed 1000
//	api check http://127.0.0.1:8080/api/health
//
// SIGTERM finishes the requests that are under way.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "check" {
		if err := check(os.Args[2]); err != nil {
			log.Fatal(err)
		}
		return
	}
	listen := flag.String("listen", "127.0.0.1:9080", "address, or unix:PATH")
	database := flag.String("database", "mongodb://127.0.0.1:27017", "where the database is")
	pool := flag.Uint64("pool", 100, "connections to the database at most; 0: one for each operation")
	seed := flag.Int("seed", 1000, "products that are made if they are missing")
	patience := flag.Duration("timeout", 20*time.Second, "how long the database may take for a request")
	grace := flag.Duration("grace", 10*time.Second, "how long requests may take that are under way at the end")
	flag.Parse()
	if err := serve(*listen, *database, *pool, *seed, *patience, *grace); err != nil {
		log.Fatal(err)
	}
}

func serve(listen, database string, pool uint64, seed int, patience, grace time.Duration) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	store, err := openStore(database, pool)
	if err != nil {
		return err
	}
	if err := store.start(ctx, seed); err != nil {
		return err
	}
	listener, err := bind(listen)
	if err != nil {
		return err
	}
	a := &api{store: store, patience: patience}
	server := &http.Server{
		Handler:           a.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		// Longer than the proxy keeps a connection (proxy.timeout.keepalive, 60 s): it is the proxy that
		// closes, so no request meets a connection that is being closed.
		IdleTimeout: 2 * time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				a.connections.Add(1)
			}
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	log.Printf("listens on %s", listen)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// A second signal ends the program at once.
	cancel()
	return stop(server, store, grace)
}

// stop takes no new requests, and finishes those that are there.
func stop(server *http.Server, store *store, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), store.client.Disconnect(ctx))
}

// start waits for the database, which may be starting too, and seeds it.
func (s *store) start(ctx context.Context, seed int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := s.seed(ctx, seed)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the database does not answer: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func bind(listen string) (net.Listener, error) {
	path, unix := strings.CutPrefix(listen, "unix:")
	if !unix {
		return net.Listen("tcp", listen)
	}
	// A run that was killed leaves its socket behind; one that somebody listens on stays.
	if other, err := net.Dial("unix", path); err == nil {
		_ = other.Close()
		return nil, fmt.Errorf("%s: somebody listens there", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// The proxy is another user. Who may connect is decided by the folder.
	return listener, os.Chmod(path, 0o666)
}

// check tells whether the answer is 200.
func check(url string) error {
	client := &http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}
