package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"mime"
	"net/http"
	"strings"
)

// largest is the most bytes of content that a request may have.
const largest = 16 << 10

// problem is an error for clients: RFC 9457.
type problem struct {
	Title  string            `json:"title"`
	Status int               `json:"status"`
	Faults map[string]string `json:"faults,omitempty"`
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, status int, value any) {
	send(w, status, "application/json", value)
}

func refuse(w http.ResponseWriter, status int, title string, faults map[string]string) {
	send(w, status, "application/problem+json", problem{title, status, faults})
}

func send(w http.ResponseWriter, status int, kind string, value any) {
	content, err := json.Marshal(value)
	if err != nil {
		log.Printf("an answer cannot be written as JSON: %v", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_, _ = w.Write(append(content, '\n'))
}

// failed answers for what the store could not do.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errMissing):
		refuse(w, http.StatusNotFound, err.Error(), nil)
	case errors.Is(err, errExists):
		refuse(w, http.StatusConflict, err.Error(), nil)
	case errors.Is(err, errChanged):
		refuse(w, http.StatusPreconditionFailed, err.Error(), nil)
	case errors.Is(r.Context().Err(), context.Canceled):
		// The client went away, and its question with it: nobody reads this.
		w.WriteHeader(499)
	default:
		log.Printf("%s %s: %v", r.Method, r.URL.Path, err)
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "the database does not answer", nil)
	}
}

// read takes a product out of a request's content; false if it has answered with an error.
func read(w http.ResponseWriter, r *http.Request, into *product) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "content must be application/json", nil)
		return false
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, largest))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	if err == nil && decoder.Decode(&struct{}{}) != io.EOF {
		err = errors.New("there is something behind the value")
	}
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return true
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, "content may have 16384 bytes", nil)
	default:
		refuse(w, http.StatusBadRequest, "not a product: "+err.Error(), nil)
	}
	return false
}

// revisions are those that a condition lets pass (If-Match, If-None-Match): nil without a condition, and with `*`.
func revisions(condition string) []string {
	condition = strings.TrimSpace(condition)
	if condition == "" || condition == "*" {
		return nil
	}
	found := []string{}
	for part := range strings.SplitSeq(condition, ",") {
		if tag, quoted := strings.CutPrefix(strings.TrimSpace(part), `"`); quoted {
			found = append(found, strings.TrimSuffix(tag, `"`))
		}
	}
	return found
}
