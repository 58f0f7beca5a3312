package main

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// api answers requests.
type api struct {
	store *store
	// patience is how long the database may take for one request.
	patience    time.Duration
	requests    atomic.Int64
	connections atomic.Int64
}

// routes are all that there is.
func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", a.health)
	mux.HandleFunc("GET /products", a.list)
	mux.HandleFunc("POST /products", a.create)
	mux.HandleFunc("GET /products/{id}", a.get)
	mux.HandleFunc("PUT /products/{id}", a.put)
	mux.HandleFunc("DELETE /products/{id}", a.remove)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		// Ends with the deadline, and as soon as the client is gone: the driver then gives the operation up.
		ctx, cancel := context.WithTimeout(r.Context(), a.patience)
		defer cancel()
		mux.ServeHTTP(w, r.WithContext(ctx))
	})
}

// health says whether the database answers, and how many connections were opened for how many requests.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	if err := a.store.ping(r.Context()); err != nil {
		failed(w, r, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{
		"status":               "ok",
		"requests":             a.requests.Load(),
		"connections":          a.connections.Load(),
		"database_connections": a.store.connections.Load(),
	})
}

func (a *api) list(w http.ResponseWriter, r *http.Request) {
	asked, limit := r.URL.Query(), 8
	if text := asked.Get("limit"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > 50 {
			refuse(w, http.StatusUnprocessableEntity, "wrong query", map[string]string{"limit": "1 to 50"})
			return
		}
		limit = number
	}
	found, more, err := a.store.page(r.Context(), asked.Get("after"), asked.Get("tag"), limit)
	if err != nil {
		failed(w, r, err)
		return
	}
	page := map[string]any{"products": found}
	if more {
		asked.Set("after", found[len(found)-1].ID)
		// Relative: whatever prefix the proxy in front has put there stays (RFC 8288).
		next := "?" + asked.Encode()
		w.Header().Set("Link", "<"+next+`>; rel="next"`)
		page["next"] = next
	}
	answer(w, http.StatusOK, page)
}

func (a *api) get(w http.ResponseWriter, r *http.Request) {
	found, err := a.store.get(r.Context(), r.PathValue("id"))
	if err != nil {
		failed(w, r, err)
		return
	}
	w.Header().Set("ETag", found.etag())
	w.Header().Set("Cache-Control", "no-cache")
	condition := r.Header.Get("If-None-Match")
	if condition == "*" || slices.Contains(revisions(condition), found.Revision) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	answer(w, http.StatusOK, found)
}

func (a *api) create(w http.ResponseWriter, r *http.Request) {
	made := &product{Tags: []string{}}
	if !read(w, r, made) {
		return
	}
	if faults := made.faults(); len(faults) > 0 {
		refuse(w, http.StatusUnprocessableEntity, "not a product", faults)
		return
	}
	if err := a.store.create(r.Context(), made); err != nil {
		failed(w, r, err)
		return
	}
	w.Header().Set("ETag", made.etag())
	w.Header().Set("Location", "products/"+url.PathEscape(made.ID))
	answer(w, http.StatusCreated, made)
}

// put creates or replaces, so it can be repeated.
func (a *api) put(w http.ResponseWriter, r *http.Request) {
	made := &product{ID: r.PathValue("id"), Tags: []string{}}
	if !read(w, r, made) {
		return
	}
	faults := made.faults()
	if made.ID != r.PathValue("id") {
		faults["id"] = "not that of the path"
	}
	if len(faults) > 0 {
		refuse(w, http.StatusUnprocessableEntity, "not a product", faults)
		return
	}
	created, err := a.store.put(r.Context(), made, revisions(r.Header.Get("If-Match")))
	if err != nil {
		failed(w, r, err)
		return
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	w.Header().Set("ETag", made.etag())
	answer(w, status, made)
}

func (a *api) remove(w http.ResponseWriter, r *http.Request) {
	err := a.store.remove(r.Context(), r.PathValue("id"), revisions(r.Header.Get("If-Match")))
	if err != nil {
		failed(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
