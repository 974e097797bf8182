package defaulting

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// PodSpec returns a copy of the spec of a pod template with the defaults of the API
// server. Set them in a manifest before you compare it with an object that the API server
// returned, as in validation.Update. The defaults that only pods have are not set.
func PodSpec(spec *corev1.PodSpec) *corev1.PodSpec {
	made := spec.DeepCopy()
	if made == nil {
		return nil
	}
	for _, d := range podSpecDefaults {
		d.set(reflect.ValueOf(made).Elem(), d.steps)
	}
	return made
}

// podSpecDefaults holds the defaults in the spec of a pod template, in the order in which fields
// are declared. A release of k8s.io/api that lacks a field has no default for it.
var podSpecDefaults = compiled(
	row("volumes[].emptyDir", unlessAny(corev1.EmptyDirVolumeSource{})),
	row("volumes[].hostPath.type", to(corev1.HostPathUnset)),
	row("volumes[].secret|configMap|downwardAPI|projected.defaultMode", to(int32(0o644))),
	row("volumes[].iscsi.iscsiInterface", to("default")),
	row("volumes[].rbd.pool", to("rbd")),
	row("volumes[].rbd.user", to("admin")),
	row("volumes[].rbd.keyring", to("/etc/ceph/keyring")),
	row("volumes[].downwardAPI.items[].fieldRef.apiVersion", to("v1")),
	row("volumes[].azureDisk.cachingMode", to(corev1.AzureDataDiskCachingReadWrite)),
	row("volumes[].azureDisk.fsType", to("ext4")),
	row("volumes[].azureDisk.readOnly", to(false)),
	row("volumes[].azureDisk.kind", to(corev1.AzureSharedBlobDisk)),
	row("volumes[].projected.sources[].downwardAPI.items[].fieldRef.apiVersion", to("v1")),
	row("volumes[].projected.sources[].serviceAccountToken.expirationSeconds", to(int64(3600))),
	row("volumes[].scaleIO.storageMode", to("ThinProvisioned")),
	row("volumes[].scaleIO.fsType", to("xfs")),
	row("volumes[].ephemeral.volumeClaimTemplate.spec.volumeMode", to(corev1.PersistentVolumeFilesystem)),
	row("volumes[].ephemeral.volumeClaimTemplate.spec.resources.limits|requests", roundUp),
	row("volumes[].image.pullPolicy", toPolicyFor("Reference")),

	row(everyContainer+"ports[].protocol", to(corev1.ProtocolTCP)),
	row(everyContainer+"env[].valueFrom.fieldRef.apiVersion", to("v1")),
	row(everyContainer+"env[].valueFrom.fileKeyRef.optional", to(false)),
	row(everyContainer+"resources.limits|requests", roundUp),
	row(everyContainer+everyProbe+"httpGet.path", to("/")),
	row(everyContainer+everyProbe+"httpGet.scheme", to(corev1.URISchemeHTTP)),
	row(everyContainer+everyProbe+"grpc.service", to("")),
	row(everyContainer+everyProbe+"timeoutSeconds|successThreshold", to(int32(1))),
	row(everyContainer+everyProbe+"periodSeconds", to(int32(10))),
	row(everyContainer+everyProbe+"failureThreshold", to(int32(3))),
	row(everyContainer+"lifecycle.postStart|preStop.httpGet.path", to("/")),
	row(everyContainer+"lifecycle.postStart|preStop.httpGet.scheme", to(corev1.URISchemeHTTP)),
	row(everyContainer+"terminationMessagePath", to(corev1.TerminationMessagePathDefault)),
	row(everyContainer+"terminationMessagePolicy", to(corev1.TerminationMessageReadFile)),
	row(everyContainer+"imagePullPolicy", toPolicyFor("Image")),

	row("restartPolicy", to(corev1.RestartPolicyAlways)),
	row("terminationGracePeriodSeconds", to(int64(corev1.DefaultTerminationGracePeriodSeconds))),
	row("dnsPolicy", to(corev1.DNSClusterFirst)),
	row("serviceAccountName", from("DeprecatedServiceAccount", false)),
	row("serviceAccount", from("ServiceAccountName", true)),
	row("securityContext", to(corev1.PodSecurityContext{})),
	row("schedulerName", to(corev1.DefaultSchedulerName)),
	row("overhead", roundUp),
	row("resources.limits|requests", roundUp),
)

const (
	everyContainer = "initContainers|containers|ephemeralContainers[]."
	everyProbe     = "livenessProbe|readinessProbe|startupProbe."
)

// podSpecDefault sets the default of one field.
type podSpecDefault struct {
	steps  []int // the numbers of the fields on the way to the field
	assign setter
}

// setter sets a field of a struct unless it is set.
type setter func(parent, out reflect.Value)

// row returns the defaults for a path of names as in JSON: [] stands for each item of a list, and
// a|b for both fields.
func row(path string, assign setter) []podSpecDefault {
	var all []podSpecDefault
	var follow func(t reflect.Type, names []string, steps []int)
	follow = func(t reflect.Type, names []string, steps []int) {
		if len(names) == 0 {
			all = append(all, podSpecDefault{steps, assign})
			return
		}
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		for _, name := range strings.Split(strings.TrimSuffix(names[0], "[]"), "|") {
			if field, found := fieldNamed(t, name); found {
				follow(field.Type, names[1:], slices.Concat(steps, field.Index))
			}
		}
	}
	follow(reflect.TypeFor[corev1.PodSpec](), strings.Split(path, "."), nil)
	return all
}

func compiled(rows ...[]podSpecDefault) []podSpecDefault { return slices.Concat(rows...) }

// fieldNamed returns the field with a name in JSON.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// set follows the steps from a struct, a pointer or a list, and sets the last field.
func (d podSpecDefault) set(out reflect.Value, steps []int) {
	switch out.Kind() {
	case reflect.Pointer:
		if !out.IsNil() {
			d.set(out.Elem(), steps)
		}
	case reflect.Slice:
		for i := range out.Len() {
			d.set(out.Index(i), steps)
		}
	default:
		if len(steps) == 1 {
			d.assign(out, out.Field(steps[0]))
			return
		}
		d.set(out.Field(steps[0]), steps[1:])
	}
}

// to sets a value, or a pointer to it.
func to(value any) setter {
	v := reflect.ValueOf(value)
	return func(_, out reflect.Value) {
		if !out.IsZero() {
			return
		}
		if out.Kind() == reflect.Pointer {
			out.Set(reflect.New(out.Type().Elem()))
			out = out.Elem()
		}
		out.Set(v.Convert(out.Type()))
	}
}

// from takes the value of another field, and always if the field is an alias of it.
func from(other string, alias bool) setter {
	return func(parent, out reflect.Value) {
		if alias || out.IsZero() {
			out.Set(parent.FieldByName(other))
		}
	}
}

// unlessAny sets a value if every pointer in the struct is nil.
func unlessAny(value any) setter {
	assign := to(value)
	return func(parent, out reflect.Value) {
		for i := range parent.NumField() {
			if field := parent.Field(i); field.Kind() == reflect.Pointer && !field.IsNil() {
				return
			}
		}
		assign(parent, out)
	}
}

// toPolicyFor sets the pull policy for the image that another field names: Always for the tag
// latest, which is the default tag.
func toPolicyFor(image string) setter {
	return func(parent, out reflect.Value) {
		switch {
		case !out.IsZero():
		case latest(parent.FieldByName(image).String()):
			out.SetString(string(corev1.PullAlways))
		default:
			out.SetString(string(corev1.PullIfNotPresent))
		}
	}
}

// roundUp rounds quantities up to thousandths.
func roundUp(_, out reflect.Value) {
	for name, quantity := range out.Interface().(corev1.ResourceList) {
		quantity.RoundUp(resource.Milli)
		out.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(quantity))
	}
}

// imageName matches an image with an optional tag and digest, in the grammar of
// github.com/distribution/reference.
var imageName = regexp.MustCompile(`^(?:` + imageHost + `(?::[0-9]+)?/)?` + imagePart + `(?:/` + imagePart +
	`)*(?::(\w[\w.-]{0,127}))?(@` + imageDigest + `)?$`)

const (
	imageLabel  = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
	imageHost   = `(?:` + imageLabel + `(?:\.` + imageLabel + `)*|\[[a-fA-F0-9:]+\])`
	imagePart   = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
	imageDigest = `(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})`
)

// imageID matches what cannot be a name, because it could be the ID of an image.
var imageID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// latest reports whether the tag of an image is latest, or the image has neither a tag nor a
// digest. An image without a valid name has no tag.
func latest(image string) bool {
	parts := imageName.FindStringSubmatch(image)
	return parts != nil && !imageID.MatchString(image) && (parts[1] == "latest" || parts[1] == "" && parts[2] == "")
}
