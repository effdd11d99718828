// Command conversion is the webhook of the benchmark. Conversion: spec.sent of v1 is spec.sentAt of v2. Admission: /validate allows
// everything, /mutate adds a label. It prints its URL and its certificate in PEM as one JSON object, serves until its standard input
// ends, and counts the calls and converted objects at /counts.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID               string           `json:"uid"`
	DesiredAPIVersion string           `json:"desiredAPIVersion"`
	Objects           []map[string]any `json:"objects"`
}

type response struct {
	UID              string           `json:"uid"`
	ConvertedObjects []map[string]any `json:"convertedObjects"`
	Result           map[string]any   `json:"result"`
}

var calls, objects atomic.Int64

func main() {
	certificate, pemText, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /convert", convert)
	http.HandleFunc("POST /validate", admit(nil))
	http.HandleFunc("POST /mutate", admit([]byte(`[{"op":"add","path":"/metadata/labels/mutated","value":"yes"}]`)))
	http.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]int64{"calls": calls.Load(), "objects": objects.Load()})
	})
	go http.Serve(listener, nil)
	json.NewEncoder(os.Stdout).Encode(map[string]string{"url": "https://" + listener.Addr().String(), "ca": pemText})
	io.Copy(io.Discard, os.Stdin)
}

func convert(w http.ResponseWriter, r *http.Request) {
	var in review
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
		http.Error(w, fmt.Sprintf("no ConversionReview: %v", err), http.StatusBadRequest)
		return
	}
	calls.Add(1)
	objects.Add(int64(len(in.Request.Objects)))
	from, to := "sent", "sentAt"
	if strings.HasSuffix(in.Request.DesiredAPIVersion, "/v1") {
		from, to = to, from
	}
	for _, object := range in.Request.Objects {
		object["apiVersion"] = in.Request.DesiredAPIVersion
		if spec, ok := object["spec"].(map[string]any); ok {
			spec[to] = spec[from]
			delete(spec, from)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(review{APIVersion: in.APIVersion, Kind: in.Kind, Response: &response{
		UID: in.Request.UID, ConvertedObjects: in.Request.Objects, Result: map[string]any{"status": "Success"},
	}})
}

// admit returns a handler that allows a request with a patch, which may be nil.
func admit(patch []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Request *struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
			http.Error(w, fmt.Sprintf("no AdmissionReview: %v", err), http.StatusBadRequest)
			return
		}
		calls.Add(1)
		answer := map[string]any{"uid": in.Request.UID, "allowed": true}
		if patch != nil {
			answer["patch"], answer["patchType"] = patch, "JSONPatch"
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})
	}
}

func selfSigned() (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}
