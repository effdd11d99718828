package main

import (
	"context"
	"strings"
)

// kept is the annotation of a v1alpha1 object that keeps the hosts which its version lacks.
const kept = group + "/hosts"

func toHub(_ context.Context, from *WebsiteV1alpha1, to *Website) error {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	to.Spec.Hosts, to.Status = []string{from.Spec.Host}, from.Status
	if more := to.Annotations[kept]; more != "" {
		to.Spec.Hosts = append(to.Spec.Hosts, strings.Split(more, ",")...)
	}
	delete(to.Annotations, kept)
	if len(to.Annotations) == 0 {
		to.Annotations = nil
	}
	return nil
}

func fromHub(_ context.Context, from *Website, to *WebsiteV1alpha1) error {
	from.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	to.Status = from.Status
	if len(from.Spec.Hosts) > 0 {
		to.Spec.Host = from.Spec.Hosts[0]
	}
	if len(from.Spec.Hosts) > 1 {
		if to.Annotations == nil {
			to.Annotations = map[string]string{}
		}
		to.Annotations[kept] = strings.Join(from.Spec.Hosts[1:], ",")
	}
	return nil
}
