package diagnose

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What the input shows about the things that a container names: a variable that it lacks, a file that is not there,
// where a value comes from. Values of Secrets are not read.

// clue is what the input shows about something that a message names; without a text that is nothing.
type clue struct {
	text   string
	of     string // see clues
	object string // its kind and name, for advice
	saying *saying
}

// clues lists what a message may name, in the order of their rank.
var clues = []struct {
	of   string
	find func(f *facts, c *corev1.Container, message string) (text, object string)
}{
	{"heap", (*facts).heap}, {"link", (*facts).link}, {"server", (*facts).server},
	{"recovered", (*facts).recovered}, {"file", (*facts).file},
	{"variable", (*facts).variable}, {"shell", (*facts).shell}, {"account", (*facts).account},
	{"service", (*facts).service}, {"certificate", (*facts).certificate}, {"value", (*facts).value},
}

// clueIn returns the first clue in the message of a container, and what saying it is.
func (f *facts) clueIn(container, message string) clue {
	in := [2]string{container, message}
	if _, known := f.clues[in]; !known {
		f.clues[in] = f.findClue(container, message)
	}
	return f.clues[in]
}

func (f *facts) findClue(container, message string) clue {
	is := clue{saying: sayingIn(message)}
	c := cmp.Or(f.containerNamed(container), &corev1.Container{Name: container})
	for _, of := range clues {
		if of.of == "account" && !is.saying.ofAccount() {
			continue
		}
		is.text, is.object = of.find(f, c, message)
		if is.text != "" {
			is.of = of.of
			return is
		}
	}
	return is
}

// heapLimit matches the options that limit a heap.
var heapLimit = regexp.MustCompile(`--max-old-space-size[= ]\d+|-Xmx\w+|-XX:MaxRAMPercentage=[\d.]+`)

// heap says which option limits a heap that is used up.
func (f *facts) heap(c *corev1.Container, message string) (text, object string) {
	if !speaks(message, "heap out of memory", "java heap space", "outofmemoryerror") {
		return "", ""
	}
	return heapOption(c), ""
}

// heapOption says which option limits the heap of a container; empty without one.
func heapOption(c *corev1.Container) string {
	limit, where := heapLimit.FindString(strings.Join(slices.Concat(c.Command, c.Args), " ")), "its command"
	for _, v := range c.Env {
		if set := heapLimit.FindString(v.Value); set != "" {
			limit, where = set, "variable "+v.Name
		}
	}
	has := c.Resources.Limits.Memory()
	return textIf(limit != "", limit+" in "+where+" limits its heap"+
		textIf(!has.IsZero(), heapAndLimit+has.String()))
}

// heapAndLimit is said between the option that limits a heap and the limit of its container.
const heapAndLimit = ", and the container may use "

// linked matches what Kubernetes writes into variables for each Service of the namespace (pkg/kubelet/envvars).
var linked = regexp.MustCompile(`\btcp://(\d+\.\d+\.\d+\.\d+):\d+\b`)

// link says that a value is what Kubernetes sets for a Service.
func (f *facts) link(_ *corev1.Container, message string) (text, object string) {
	m := linked.FindStringSubmatch(message)
	if m == nil || !*cmp.Or(f.Job.Spec.Template.Spec.EnableServiceLinks, new(true)) {
		return "", ""
	}
	name := f.addresses[m[1]].text("metadata", "name")
	return m[0] + " is what Kubernetes sets, in variables such as " + either(name != "",
		strings.ToUpper(strings.ReplaceAll(name, "-", "_")), "NAME") + "_PORT, for " +
		either(name != "", "Service "+name, "a Service"), ""
}

// paths matches the paths of files.
var paths = regexp.MustCompile(`/[\w.@-]+(?:/[\w.@-]+)*`)

// file says that a ConfigMap or a Secret does not have the file which a container looks for where it is mounted.
func (f *facts) file(c *corev1.Container, message string) (text, object string) {
	if len(c.VolumeMounts) == 0 || !speaks(message, "no such file", "not found", "cannot open", "can't open",
		"not a directory", "does not exist", "filenotfound", "enoent") {
		return "", ""
	}
	for _, path := range paths.FindAllString(message, -1) {
		var at corev1.VolumeMount // the innermost one around the path
		for _, mount := range c.VolumeMounts {
			at = either(isIn(path, mount) && len(mount.MountPath) > len(at.MountPath), mount, at)
		}
		file := strings.TrimPrefix(strings.TrimPrefix(path, at.MountPath), "/")
		if path == at.MountPath {
			file = at.SubPath
		}
		from, has := f.filesOf(at.Name)
		if from != "" && file != "" && !slices.Contains(has, file) && (at.SubPath == "") == (path != at.MountPath) {
			return from + ", mounted at " + at.MountPath + ", has no file " + file + textIf(len(has) > 0 &&
				len(has) < 6, "; it has "+list(has)), strings.ToLower(strings.Replace(from, " ", "/", 1))
		}
	}
	return "", ""
}

// isIn reports whether a path is that of a mount, or of something in it.
func isIn(path string, mount corev1.VolumeMount) bool {
	return path == mount.MountPath || strings.HasPrefix(path, strings.TrimSuffix(mount.MountPath, "/")+"/")
}

// filesOf returns the ConfigMap or Secret of a volume, if it is given, and the files that it has there.
func (f *facts) filesOf(volume string) (from string, has []string) {
	var kind, name string
	var items []corev1.KeyToPath
	v := f.volumeNamed(volume)
	switch {
	case v.ConfigMap != nil:
		kind, name, items = "ConfigMap", v.ConfigMap.Name, v.ConfigMap.Items
	case v.Secret != nil:
		kind, name, items = "Secret", v.Secret.SecretName, v.Secret.Items
	}
	o := f.find(kind, f.Job.Namespace, name)
	if o == nil {
		return "", nil
	}
	for _, item := range items {
		has = append(has, item.Path)
	}
	return kind + " " + name, either(len(items) > 0, has, keysOf(o))
}

// keysOf returns the keys of a ConfigMap or a Secret.
func keysOf(o object) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(o.at("data"))), maps.Keys(o.at("binaryData")))
	slices.Sort(keys)
	return keys
}

// unset matches what programs say of a variable that is not set.
var unset = regexp.MustCompile(`(?:KeyError: '?|(?i:env(?:ironment)?|variables?|missing|required|undefined)\b[^.]{0,40}?)` +
	`\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b|\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b['"]?:? (?:(?i:is )?(?i:not set|not ` +
	`defined|missing|required|unset|empty|undefined|must be|unbound|parameter (?:not|null)|environment variable))`)

// variable says that a container has no variable of the name that it needs.
func (f *facts) variable(c *corev1.Container, message string) (text, object string) {
	if !speaks(message, "keyerror", "env", "variable", "missing", "required", "undefined", "not set", "not defined",
		"unset", "empty", "must be", "unbound", "parameter") {
		return "", "" // the pattern takes long
	}
	m := unset.FindStringSubmatch(message)
	if m == nil || speaks(message, "make sure") { // which is a hint, not the error
		return "", ""
	}
	name := m[1] + m[2]
	var has []string
	for _, v := range c.Env {
		from := cmp.Or(v.ValueFrom, &corev1.EnvVarSource{})
		switch {
		case v.Name != name:
			has = append(has, v.Name)
		case from.ConfigMapKeyRef != nil:
			return f.keyMissing("ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, name)
		case from.SecretKeyRef != nil:
			return f.keyMissing("Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key, name)
		default:
			return "", "" // it is set, perhaps to nothing
		}
	}
	for _, from := range c.EnvFrom {
		o := f.envFrom(from)
		if o == nil {
			return "", "" // its keys are not known
		}
		for _, k := range keysOf(o) {
			has = append(has, from.Prefix+k)
		}
	}
	if c.Image == "" || slices.Contains(has, name) { // without an image it is not of the template
		return "", ""
	}
	return "the pod template gives container " + c.Name + " no variable " + name +
		textIf(len(has) > 0 && len(has) < 8, "; it has "+list(has)), ""
}

// envFrom returns the ConfigMap or Secret whose keys are variables; nil if it is not given.
func (f *facts) envFrom(from corev1.EnvFromSource) object {
	if from.ConfigMapRef != nil {
		return f.find("ConfigMap", f.Job.Namespace, from.ConfigMapRef.Name)
	}
	return f.find("Secret", f.Job.Namespace, cmp.Or(from.SecretRef, &corev1.SecretEnvSource{}).Name)
}

// keyMissing says that an object lacks the key from which a variable is set.
func (f *facts) keyMissing(kind, name, k, variable string) (text, object string) {
	o := f.find(kind, f.Job.Namespace, name)
	if o == nil || slices.Contains(keysOf(o), k) {
		return "", ""
	}
	return "variable " + variable + " is from key " + k + " of " + kind + " " + name + ", which has no such key",
		strings.ToLower(kind) + "/" + name
}

// quoted matches a word in quotes.
var quoted = regexp.MustCompile("[\"'`]([^\"'`\\s]{3,80})[\"'`]")

// particular matches what is seldom in two messages by chance: an ARN, and a name with underscores.
var particular = regexp.MustCompile(`\barn:[\w:/.-]+\w|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b`)

// namesIn returns what the end of a message names, in order: servers, by address, by a name with at least two dots or
// by one with a port; words in quotes; and what is particular otherwise.
func namesIn(message string) (names []string) {
	const last = 4
	var lines []string
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(message), "\n")) {
		if len(lines) < last && !frame.MatchString(line) {
			lines = append(lines, line)
		}
	}
	end := strings.Join(lines, "\n")
	for _, m := range quoted.FindAllStringSubmatch(end, -1) {
		names = append(names, m[1])
	}
	for _, at := range particular.FindAllStringIndex(end, -1) {
		rest := end[at[1]:]
		if !strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "(") { // of an argument, a function
			names = append(names, end[at[0]:at[1]])
		}
	}
	for _, word := range hosts.FindAllString(particular.ReplaceAllString(end, " "), -1) {
		name, port, _ := strings.Cut(strings.Trim(word, `"'/@`), ":")
		if strings.Count(name, ".") > 1 || len(port) > 2 && strings.ContainsAny(name, "abcdefghijklmnopqrstuvwxyz") {
			names = append(names, local.ReplaceAllString(name, ""))
		}
	}
	if m := ports.FindStringSubmatch(end); m != nil && speaks(end, passing...) { // another may name an address
		names = append(names, "port "+m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// value says where a value that a message quotes, or the name of a server in it, comes from: a variable or a ConfigMap.
func (f *facts) value(c *corev1.Container, message string) (text, object string) {
	var words []string
	for _, m := range quoted.FindAllStringSubmatch(message, -1) {
		words = append(words, m[1])
	}
	said := sayingIn(message)
	if said == nil || said.ofAccount() || speaks(message, passing...) { // else the server was reached
		words = append(words, hostsIn(message, false)...)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	const most = 3
	var says []string
	for _, word := range words {
		place, of := f.from(c, word, func(v string) bool { return v == word })
		if place != "" && len(says) < most {
			says, object = append(says, place), cmp.Or(object, of)
		}
	}
	for _, word := range words {
		if len(says) > 0 {
			break
		}
		text, object = f.from(c, word, func(v string) bool { // a long value is a script or a file
			return strings.ContainsAny(word, ".-_:/") && len(word) > 5 && len(v) < 200 && strings.Contains(v, word)
		})
		if text != "" {
			return text, object
		}
	}
	return strings.Join(says, ", "), object
}

// from says from where a container has a word.
func (f *facts) from(c *corev1.Container, word string, is func(string) bool) (text, object string) {
	for _, v := range c.Env {
		from := cmp.Or(cmp.Or(v.ValueFrom, &corev1.EnvVarSource{}).ConfigMapKeyRef, &corev1.ConfigMapKeySelector{})
		switch {
		case is(v.Value):
			return strconv.Quote(word) + " is in variable " + v.Name + " of the pod template", ""
		case from.Name != "" && is(f.find("ConfigMap", f.Job.Namespace, from.Name).text("data", from.Key)):
			return inKey(word, from.Key, from.Name)
		}
	}
	for _, name := range f.configMapsOf(c) {
		data := f.find("ConfigMap", f.Job.Namespace, name).at("data")
		for _, k := range slices.Sorted(maps.Keys(data)) {
			if is(data.text(k)) {
				return inKey(word, k, name)
			}
		}
	}
	return "", ""
}

func inKey(word, k, configMap string) (text, object string) {
	return strconv.Quote(word) + " is in key " + k + " of ConfigMap " + configMap, "configmap/" + configMap
}

// configMapsOf returns the names of the ConfigMaps that a container has as variables or files.
func (f *facts) configMapsOf(c *corev1.Container) (names []string) {
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			names = append(names, from.ConfigMapRef.Name)
		}
	}
	for _, mount := range c.VolumeMounts {
		if from, _ := f.filesOf(mount.Name); strings.HasPrefix(from, "ConfigMap ") {
			names = append(names, strings.TrimPrefix(from, "ConfigMap "))
		}
	}
	return names
}
