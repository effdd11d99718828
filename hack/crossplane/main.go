// Reads CompositeResourceDefinitions as JSON documents from stdin, as the API server stores them, and prints a line of JSON for each:
// the CRDs that Crossplane makes of it, or the error.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	v1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type answer struct {
	CRDs  []*extv1.CustomResourceDefinition `json:"crds"`
	Error string                            `json:"error"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		xrd := &v1.CompositeResourceDefinition{}
		if err := in.Decode(xrd); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(crdsOf(xrd)); err != nil {
			log.Fatal(err)
		}
	}
}

func crdsOf(xrd *v1.CompositeResourceDefinition) answer {
	composite, err := xcrd.ForCompositeResource(xrd)
	if err != nil {
		return answer{Error: err.Error()}
	}
	if !xrd.OffersClaim() {
		return answer{CRDs: []*extv1.CustomResourceDefinition{composite}}
	}
	claim, err := xcrd.ForCompositeResourceClaim(xrd)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{CRDs: []*extv1.CustomResourceDefinition{composite, claim}}
}
