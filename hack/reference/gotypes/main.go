// Command gotypes writes the Go types of the built-in kinds as JSON: the fields of each struct with their JSON names, their
// numbers in Protobuf and their types.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type document struct {
	// Kinds has the struct of each kind, by "group/version/kind".
	Kinds map[string]string `json:"kinds"`
	// Structs has the entries of each struct, in the order of its fields.
	Structs map[string][]string `json:"structs"`
}

// simple are the types that apiext models itself, by their import path and name.
var simple = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":        "Quantity",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":        "FieldsV1",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":       "MicroTime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta":      "ObjectMeta",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":            "Time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.TypeMeta":        "TypeMeta",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":         "RawExtension",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":      "IntOrString",
}

func main() {
	known := scheme.Scheme
	if err := apiregistration.AddToScheme(known); err != nil {
		panic(err)
	}
	found := document{map[string]string{}, map[string][]string{}}
	for kind, goType := range known.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal && strings.HasPrefix(goType.PkgPath(), "k8s.io/") {
			found.Kinds[kind.Group+"/"+kind.Version+"/"+kind.Kind] = found.name(goType)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}

// name returns the notation of a type and records the structs in it.
func (found *document) name(goType reflect.Type) string {
	path := goType.PkgPath() + "." + goType.Name()
	if text, ok := simple[path]; ok {
		return text
	}
	named := ""
	if goType.PkgPath() != "" {
		named = goType.String() + "="
	}
	switch goType.Kind() {
	case reflect.Pointer:
		return "*" + found.name(goType.Elem())
	case reflect.Map:
		return named + "map[string]" + found.name(goType.Elem())
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "[]uint8"
		}
		return named + "[]" + found.name(goType.Elem())
	case reflect.Struct:
		key := strings.TrimPrefix(strings.TrimPrefix(path, "k8s.io/api/"), "k8s.io/")
		if _, ok := found.Structs[key]; !ok {
			found.Structs[key] = []string{}
			found.Structs[key] = found.entries(goType)
		}
		return key
	default:
		return goType.String()
	}
}

// entries returns the notation of a struct's fields.
func (found *document) entries(goType reflect.Type) []string {
	entries := []string{}
	for index := range goType.NumField() {
		field := goType.Field(index)
		options := strings.Split(field.Tag.Get("json"), ",")
		number := "0"
		if parts := strings.Split(field.Tag.Get("protobuf"), ","); len(parts) > 1 {
			number = parts[1]
		}
		name := options[0]
		if field.Anonymous && name == "" {
			name = "&" + field.Name
		} else if name == "" || name == "-" {
			continue
		}
		for _, option := range []string{"omitempty", "omitzero"} {
			for _, given := range options[1:] {
				if given == option {
					name += "," + option
				}
			}
		}
		entries = append(entries, number+" "+name+" "+found.name(field.Type))
	}
	return entries
}
