package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Config returns the config for a clientset of client-go, which reads live. It supports the
// requests of Client and Live, but no watches: use [Env.Informer].
func (e *Env) Config() *rest.Config {
	if e.schedule != nil {
		config := e.schedule.server.Config()
		config.UserAgent, config.Transport = agent, answers{e.schedule}
		return config
	}
	return &rest.Config{Host: "http://chaos", Transport: transport{e}, QPS: -1}
}

// transport is the API server of a rest.Config.
type transport struct{ *Env }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	object, err := t.serve(r.Context(), r, body)
	code := http.StatusOK
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			return nil, err // of the network
		}
		failed := status.Status()
		object, code = &failed, int(failed.Code)
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	text, err := json.Marshal(object)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, err
}

// serve serves a request to the paths of Jobs, pods and events.
func (t transport) serve(ctx context.Context, r *http.Request, body []byte) (runtime.Object, error) {
	path := strings.Split(strings.TrimPrefix(
		strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/batch/v1"), "/api/v1"), "/"), "/")
	path = append(path, "", "", "", "", "")
	if path[0] != "namespaces" {
		path = append([]string{"", ""}, path...)
	}
	namespace, resource, name, sub := path[1], path[2], path[3], path[4]
	if r.URL.Query().Get("watch") != "" {
		return nil, t.unserved("a watch of "+resource, nil)
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	asked := r.Method + " " + resource + " " + sub
	switch resource {
	case "jobs":
		job := &batchv1.Job{ObjectMeta: meta}
		switch asked {
		case "GET jobs ":
			if name == "" {
				list := &batchv1.JobList{}
				return list, t.Live.List(ctx, list, client.InNamespace(namespace))
			}
			return job, t.Live.Get(ctx, client.ObjectKeyFromObject(job), job)
		case "PATCH jobs status":
			return job, t.Client.Status().Patch(ctx, job, patchOf(r, body))
		case "PUT jobs status":
			if err := decode(body, job); err != nil {
				return nil, err
			}
			return job, t.Client.Status().Update(ctx, job)
		}
	case "pods":
		return t.servePod(ctx, r, body, asked, &corev1.Pod{ObjectMeta: meta})
	case "events":
		return &corev1.Event{ObjectMeta: meta}, nil
	}
	return nil, t.unserved(asked+" "+fmt.Sprintf("%q", r.URL.RawQuery), nil)
}

func (t transport) servePod(ctx context.Context, r *http.Request, body []byte, asked string,
	pod *corev1.Pod) (runtime.Object, error) {
	switch asked {
	case "GET pods ":
		if pod.Name != "" {
			return pod, t.Live.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		}
		list := &corev1.PodList{}
		options := client.ListOptions{Namespace: pod.Namespace, Raw: &metav1.ListOptions{}}
		if selector := r.URL.Query().Get("labelSelector"); selector != "" {
			parsed, err := metav1.ParseToLabelSelector(selector)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			if options.LabelSelector, err = metav1.LabelSelectorAsSelector(parsed); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
		}
		return list, t.Live.List(ctx, list, &options)
	case "POST pods ":
		namespace := pod.Namespace
		if err := decode(body, pod); err != nil {
			return nil, err
		}
		pod.Namespace = namespace
		return pod, t.Client.Create(ctx, pod)
	case "PUT pods ":
		if err := decode(body, pod); err != nil {
			return nil, err
		}
		return pod, t.Client.Update(ctx, pod)
	case "PATCH pods ":
		return pod, t.Client.Patch(ctx, pod, patchOf(r, body))
	case "DELETE pods ":
		raw := &metav1.DeleteOptions{}
		if len(body) > 0 {
			if err := decode(body, raw); err != nil {
				return nil, err
			}
		}
		options := &client.DeleteOptions{Raw: raw, Preconditions: raw.Preconditions,
			GracePeriodSeconds: raw.GracePeriodSeconds, PropagationPolicy: raw.PropagationPolicy}
		return pod, t.Client.Delete(ctx, pod, options)
	}
	return nil, t.unserved(asked, pod)
}

func patchOf(r *http.Request, body []byte) client.Patch {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return client.RawPatch(types.PatchType(kind), body)
}

// decode reads JSON or protobuf.
func decode(body []byte, to runtime.Object) error {
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, to); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}
