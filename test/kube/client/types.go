package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "management.platform", Version: "v1"}

// OwnedAccessKey has the fields that this program looks at, as a program of a user would declare them.
type OwnedAccessKey struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              KeySpec   `json:"spec,omitempty"`
	Status            KeyStatus `json:"status,omitempty"`
}

type KeySpec struct {
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	User        string `json:"user,omitempty"`
	Key         string `json:"key,omitempty"`
	TTL         int64  `json:"ttl,omitempty"`
	Type        string `json:"type,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
}

type KeyStatus struct {
	LastActivity *metav1.Time `json:"lastActivity,omitempty"`
}

type OwnedAccessKeyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OwnedAccessKey `json:"items"`
}

func (in *OwnedAccessKey) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.LastActivity = in.Status.LastActivity.DeepCopy()
	return &out
}

func (in *OwnedAccessKeyList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]OwnedAccessKey, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*OwnedAccessKey)
	}
	return &out
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &OwnedAccessKey{}, &OwnedAccessKeyList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme
}
