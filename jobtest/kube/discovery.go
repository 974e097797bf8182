package kube

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// discover answers the requests that are not about objects. It serves discovery without
// aggregation, to which every client falls back.
func (s *Server) discover(hr *http.Request) ([]byte, bool) {
	if hr.Method != http.MethodGet {
		return nil, false
	}
	path := strings.TrimSuffix(hr.URL.Path, "/")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var found any
	switch {
	case path == "/healthz" || path == "/livez" || path == "/readyz":
		return []byte("ok"), true
	case path == "/version":
		found = apiversion.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2", Platform: "linux/amd64"}
	case path == "/api":
		found = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "/apis":
		found = metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups: s.groups()}
	case len(parts) == 2 && parts[0] == "api":
		found = s.resources(schema.GroupVersion{Version: parts[1]})
	case len(parts) == 3 && parts[0] == "apis":
		found = s.resources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		return nil, false
	}
	if list, ok := found.(metav1.APIResourceList); ok && len(list.APIResources) == 0 {
		return nil, false
	}
	text, err := json.Marshal(found)
	return text, err == nil
}

// groups returns the API groups in the order of their first kind, with the versions in the
// same order.
func (s *Server) groups() []metav1.APIGroup {
	groups := []metav1.APIGroup{}
	for _, k := range s.kinds {
		gv := k.GroupVersionKind.GroupVersion()
		if gv.Group == "" {
			continue
		}
		offered := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if i < 0 {
			groups = append(groups, metav1.APIGroup{Name: gv.Group, PreferredVersion: offered})
			i = len(groups) - 1
		}
		if !slices.Contains(groups[i].Versions, offered) {
			groups[i].Versions = append(groups[i].Versions, offered)
		}
	}
	return groups
}

var verbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

func (s *Server) resources(gv schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
	}
	for _, k := range s.kinds {
		if k.GroupVersionKind.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.Resource, SingularName: k.singular(), Namespaced: !k.ClusterScoped,
			Kind: k.GroupVersionKind.Kind, Verbs: verbs, ShortNames: k.ShortNames})
		if k.hasSubresource("status") {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.Resource + "/status", Namespaced: !k.ClusterScoped,
				Kind: k.GroupVersionKind.Kind, Verbs: metav1.Verbs{"get", "patch", "update"}})
		}
		if k.hasSubresource("binding") {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.Resource + "/binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}})
		}
	}
	return list
}
