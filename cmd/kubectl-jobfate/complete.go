package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

const (
	// mostNames is the maximum number of names to read, and patience how long a shell waits
	// for them.
	mostNames, patience = 500, 3 * time.Second
)

// complete completes the names of Jobs, namespaces and contexts.
func (p *program) complete(root *cobra.Command) {
	first := func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.offered(c.Context(), batchv1.SchemeGroupVersion.WithResource("jobs"), begun)
	}
	for _, c := range append(root.Commands(), root) {
		c.ValidArgsFunction = first
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"namespace": func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return p.offered(c.Context(), namespaces, begun)
		},
		"context": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			config, _ := p.flags.ToRawKubeConfigLoader().RawConfig() // an unreadable file has no contexts
			return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
		},
	} {
		_ = root.RegisterFlagCompletionFunc(flag, complete) // cannot fail: the flags exist
	}
}

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// offered returns the names of objects that begin with a text. It returns no names if they
// cannot be read in time.
func (p *program) offered(ctx context.Context, resource schema.GroupVersionResource,
	begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	names, _ := p.names(ctx, resource)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) }),
		cobra.ShellCompDirectiveNoFileComp
}

func (p *program) names(ctx context.Context, resource schema.GroupVersionResource) (names []string, _ error) {
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	if resource == namespaces {
		namespace = metav1.NamespaceAll
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: mostNames})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
