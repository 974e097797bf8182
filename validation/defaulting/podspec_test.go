package defaulting

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// test/kubernetes/conformance/validation compares the defaults with those of the API server, in templates in which
// any field is set.
func TestPodSpec(t *testing.T) {
	spec := &corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "main", Image: "registry.example.com/resize:1",
			Ports:         []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}},
			Resources:     corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("100u")}},
			LivenessProbe: &corev1.Probe{PeriodSeconds: 60, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}},
		}},
		Volumes: []corev1.Volume{{Name: "none"}, {Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}}},
	}
	before := spec.DeepCopy()
	want := &corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
		SecurityContext: &corev1.PodSecurityContext{}, TerminationGracePeriodSeconds: new(int64(30)),
		Containers: []corev1.Container{{
			Name: "main", Image: "registry.example.com/resize:1", ImagePullPolicy: corev1.PullIfNotPresent,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			Ports:     []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1m")}},
			LivenessProbe: &corev1.Probe{
				PeriodSeconds: 60, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Scheme: corev1.URISchemeHTTP}},
			},
		}},
		Volumes: []corev1.Volume{
			{Name: "none", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{DefaultMode: new(int32(0o644))}}},
		},
	}
	got := PodSpec(spec)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PodSpec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Errorf("the input changed (-before +after):\n%s", diff)
	}
	Same(t, "the defaults of a template with defaults", PodSpec(got), got)
	Same(t, "PodSpec of nil", PodSpec(nil), nil)
}

func TestDefaultPullPolicy(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"busybox": corev1.PullAlways, "busybox:latest": corev1.PullAlways, "busybox:1": corev1.PullIfNotPresent,
		"registry:5000/busybox": corev1.PullAlways, "Registry:5000/busybox:1": corev1.PullIfNotPresent,
		"busybox@sha256:" + hex64: corev1.PullIfNotPresent, "busybox:latest@sha256:" + hex64: corev1.PullAlways,
		"": corev1.PullIfNotPresent, "Busybox": corev1.PullIfNotPresent, hex64: corev1.PullIfNotPresent,
	} {
		Same(t, image, PodSpec(&corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}).Containers[0].ImagePullPolicy, want)
	}
}

// The API server keeps a pull policy, and reads serviceAccount as an alias of serviceAccountName.
func TestPodSpec_whatIsSet(t *testing.T) {
	for _, tc := range []struct{ name, alias, want string }{
		{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "a"},
	} {
		got := PodSpec(&corev1.PodSpec{ServiceAccountName: tc.name, DeprecatedServiceAccount: tc.alias,
			Containers: []corev1.Container{{Image: "busybox:1", ImagePullPolicy: corev1.PullNever}}})
		if got.ServiceAccountName != tc.want || got.DeprecatedServiceAccount != tc.want {
			t.Errorf("name %q, alias %q: got %q and %q, want %q", tc.name, tc.alias, got.ServiceAccountName,
				got.DeprecatedServiceAccount, tc.want)
		}
		Same(t, "the pull policy", got.Containers[0].ImagePullPolicy, corev1.PullNever)
	}
}

const hex64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
