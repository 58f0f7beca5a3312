// A client by Go's net/http: everything over HTTP/2, in clear by prior knowledge or over TLS.
//
//	client https://127.0.0.1:8443 ca.pem
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func main() {
	base, authority := os.Args[1], os.Args[2]
	client := &http.Client{Transport: transport(authority), Timeout: 20 * time.Second}
	expect(client, "GET", base+"/ten", nil, 200, []byte("0123456789"))
	expect(client, "HEAD", base+"/ten", nil, 200, nil)
	expect(client, "GET", base+"/page", nil, 200, bytes.Repeat([]byte("p"), 513*1024))
	expect(client, "GET", base+"/none", nil, 404, nil)
	// Content of known length, content in pieces, content with trailers.
	expect(client, "POST", base+"/ten", strings.NewReader(strings.Repeat("content", 20000)), 405, nil)
	expect(client, "POST", base+"/ten", io.MultiReader(strings.NewReader("piece"), strings.NewReader("piece")), 405, nil)
	trailers(client, base+"/ten")
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() { expect(client, "GET", base+"/page", nil, 200, bytes.Repeat([]byte("p"), 513*1024)) })
	}
	all.Wait()
	fmt.Println("done")
}

// transport speaks HTTP/2 and nothing else.
func transport(authority string) *http.Transport {
	var protocols http.Protocols
	if authority == "" {
		protocols.SetUnencryptedHTTP2(true)
		return &http.Transport{Protocols: &protocols}
	}
	protocols.SetHTTP2(true)
	text, err := os.ReadFile(authority)
	check(err == nil, err)
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(text), "a certificate")
	return &http.Transport{Protocols: &protocols, TLSClientConfig: &tls.Config{RootCAs: roots}}
}

func expect(client *http.Client, method, url string, content io.Reader, status int, want []byte) {
	request, err := http.NewRequest(method, url, content)
	check(err == nil, err)
	answer, err := client.Do(request)
	check(err == nil, method, url, err)
	got, err := io.ReadAll(answer.Body)
	check(err == nil, method, url, err)
	check(answer.Body.Close() == nil, "closed")
	check(answer.ProtoMajor == 2, answer.Proto)
	check(answer.StatusCode == status, method, url, answer.Status)
	check(want == nil || bytes.Equal(got, want), method, url, len(got))
	if method == "HEAD" && answer.TLS != nil {
		fmt.Println(tls.VersionName(answer.TLS.Version)+",", answer.TLS.CurveID)
	}
}

func trailers(client *http.Client, url string) {
	request, err := http.NewRequest("POST", url, io.MultiReader(strings.NewReader("content")))
	check(err == nil, err)
	request.Trailer = http.Header{"Checksum": []string{"1"}}
	answer, err := client.Do(request)
	check(err == nil, err)
	check(answer.StatusCode == 405, answer.Status)
	check(answer.Body.Close() == nil, "closed")
}

// check ends the program with what went wrong.
func check(holds bool, about ...any) {
	if !holds {
		fmt.Fprintln(os.Stderr, about...)
		os.Exit(1)
	}
}
