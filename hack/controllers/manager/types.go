package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const group = "web.example.com"

// site is a Website of any version.
type site interface {
	client.Object
	hosts() []string
	status() *Status
}

// Status is the same in both versions.
type Status struct {
	Hosts int64 `json:"hosts,omitempty"`
}

// Website is version v1, which all others are converted to.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitempty"`
}

// Spec has any number of hosts.
type Spec struct {
	Hosts []string `json:"hosts"`
}

// WebsiteV1alpha1 is version v1alpha1.
type WebsiteV1alpha1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SpecV1alpha1 `json:"spec"`
	Status            Status       `json:"status,omitempty"`
}

// SpecV1alpha1 has one host.
type SpecV1alpha1 struct {
	Host string `json:"host"`
}

// WebsiteList is a list of v1.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Website `json:"items"`
}

// WebsiteV1alpha1List is a list of v1alpha1.
type WebsiteV1alpha1List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WebsiteV1alpha1 `json:"items"`
}

func (w *Website) hosts() []string         { return w.Spec.Hosts }
func (w *Website) status() *Status         { return &w.Status }
func (w *WebsiteV1alpha1) hosts() []string { return []string{w.Spec.Host} }
func (w *WebsiteV1alpha1) status() *Status { return &w.Status }

// DeepCopyObject copies the object.
func (w *Website) DeepCopyObject() runtime.Object {
	out := &Website{TypeMeta: w.TypeMeta, Spec: Spec{Hosts: append([]string(nil), w.Spec.Hosts...)}, Status: w.Status}
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// DeepCopyObject copies the object.
func (w *WebsiteV1alpha1) DeepCopyObject() runtime.Object {
	out := &WebsiteV1alpha1{TypeMeta: w.TypeMeta, Spec: w.Spec, Status: w.Status}
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// DeepCopyObject copies the list.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	out := &WebsiteList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Website))
	}
	return out
}

// DeepCopyObject copies the list.
func (l *WebsiteV1alpha1List) DeepCopyObject() runtime.Object {
	out := &WebsiteV1alpha1List{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*WebsiteV1alpha1))
	}
	return out
}

func addToScheme(scheme *runtime.Scheme) error {
	old, current := schema.GroupVersion{Group: group, Version: "v1alpha1"}, schema.GroupVersion{Group: group, Version: "v1"}
	scheme.AddKnownTypeWithName(current.WithKind("Website"), &Website{})
	scheme.AddKnownTypeWithName(current.WithKind("WebsiteList"), &WebsiteList{})
	scheme.AddKnownTypeWithName(old.WithKind("Website"), &WebsiteV1alpha1{})
	scheme.AddKnownTypeWithName(old.WithKind("WebsiteList"), &WebsiteV1alpha1List{})
	metav1.AddToGroupVersion(scheme, current)
	metav1.AddToGroupVersion(scheme, old)
	return nil
}
