package diagnose

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Why a pod does not get an image.

// steps matches what containerd says of how far it came with an image, whose name it repeats each time.
var steps = regexp.MustCompile(`failed to pull and unpack image "[^"]*": |failed to resolve reference "[^"]*": |` +
	`failed to resolve image: |rpc error: code = \w+ desc = `)

// secretless finds that a registry refuses to give an image, and that the kubelet has not found a Secret with
// credentials for it.
func secretless(p *podFacts) sign {
	s := waiting(imageReasons, refusals...)(p)
	return either(withoutSecrets(s.text, p.events) != "", s, sign{})
}

// refusedImage finds that a registry refuses to give an image, with the Secrets whose credentials the pod has.
func refusedImage(p *podFacts) sign {
	s := waiting(imageReasons, refusals...)(p)
	for _, secret := range p.Spec.ImagePullSecrets {
		s.text += textIf(s.text != "", "; imagePullSecrets has "+secret.Name)
	}
	return s
}

// refusals are what registries say to those who may not have an image.
var refusals = []string{"unauthorized", "denied", "no basic auth", "authentication required", "403 Forbidden",
	"401 Unauthorized"}

// wrongPlatform finds that an image does not exist for the platform of the pod's node.
func wrongPlatform(p *podFacts) sign {
	s := waiting(imageReasons, "no match for platform", "no matching manifest")(p)
	if arch := p.f.arch(p.Pod); s.text != "" && arch != "" {
		s.text += "; node " + p.node + " has " + arch
	}
	return s
}

// noSuchImage finds that a registry does not have an image; of a node, a snapshot may be missing.
func noSuchImage(p *podFacts) sign {
	s := waiting(imageReasons, "code = NotFound", "manifest unknown", ": not found")(p)
	if s.text == "" || mentions(s.text, "snapshot") {
		return sign{}
	}
	own := p.imageOf(s.container)
	repository := func(image string) string { return image[:max(0, strings.LastIndex(image, ":"))] }
	var others []string
	for _, image := range slices.Sorted(maps.Keys(p.f.near.images)) {
		if image != own && repository(image) == repository(own) {
			others = append(others, image)
		}
	}
	s.text += textIf(len(others) > 0, "; pods of the namespace have had "+list(others))
	return s
}

// imageOf returns the image of a container.
func (p *podFacts) imageOf(name string) string {
	return firstOf(p.all, func(c container) bool { return c.Name == name }).Image
}

// registryUnknown finds that the host of an image does not exist, and that a pod of the namespace has had an image from
// a host of almost that name.
func registryUnknown(p *podFacts) sign {
	s := waiting(imageReasons, "no such host")(p)
	if s.text == "" {
		return s
	}
	host := func(image string) string {
		name, _, found := strings.Cut(image, "/")
		return textIf(found && strings.Contains(name, "."), name)
	}
	own := host(p.imageOf(s.container))
	for _, image := range slices.Sorted(maps.Keys(p.f.near.images)) {
		if other := host(image); own != "" && other != own && similar(own, other) {
			s.text += "; other images of the namespace are from " + other
			return s
		}
	}
	return sign{}
}

// similar reports whether two names differ in two letters at most, side by side.
func similar(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b)) <= 2
}
