package apirules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Template returns what the API server would reject in a pod template with its defaults. The rules of a Job
// for its template, such as those for its restart policy, are in package validation.
func Template(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	spec := path.Child("spec")
	errs := apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations"))
	errs = append(errs, unversioned.ValidateLabels(template.Spec.NodeSelector, spec.Child("nodeSelector"))...)
	errs = append(errs, table(Fields(&template.Spec), spec, templateRows)...)
	volumes := map[string]bool{} // the valid ones, which can be mounted
	for i, v := range template.Spec.Volumes {
		at := spec.Child("volumes").Index(i).String() + "."
		wrong := func(err *field.Error) bool { return strings.HasPrefix(err.Field, at) }
		if volumes[v.Name] {
			errs = append(errs, field.Duplicate(spec.Child("volumes").Index(i).Child("name"), v.Name))
		}
		volumes[v.Name] = volumes[v.Name] || !slices.ContainsFunc(errs, wrong)
	}
	errs = append(errs, containers(&template.Spec, volumes, spec)...)
	return errs
}

const (
	every  = "containers|initContainers[]."
	probes = every + "livenessProbe|readinessProbe|startupProbe"
)

var templateRows = []row{
	{"containers", required},
	{"containers", distinct("name", field.Duplicate)},
	{every + "name", named},
	{every + "image", required},
	{every + "imagePullPolicy", oneOf("Always", "IfNotPresent", "Never")},
	{every + "terminationMessagePolicy", oneOf("File", "FallbackToLogsOnError")},
	{every + "ports[].name", text(validation.IsValidPortName)},
	{every + "ports", distinct("name", field.Duplicate)},
	{every + "ports[].containerPort", both(required, port)},
	{every + "ports[].hostPort", port},
	{every + "ports[].protocol", oneOf("SCTP", "TCP", "UDP")},
	{every + "env[].name", both(required, text(validation.IsRelaxedEnvVarName))},
	{every + "env[]", source},
	{every + "env[].valueFrom.configMapKeyRef|secretKeyRef.name", subdomain},
	{every + "env[].valueFrom.configMapKeyRef|secretKeyRef.key", both(required, text(validation.IsConfigMapKey))},
	{every + "envFrom[]", envFrom},
	{every + "envFrom[].configMapRef|secretRef.name", required},
	{every + "volumeMounts[].name", required},
	{every + "volumeMounts[].mountPath", required},
	{every + "volumeMounts", distinct("mountPath", notUnique)},
	{probes, handler},
	{probes + ".exec.command", required},
	{probes + ".httpGet|tcpSocket.port", handlerPort},
	{probes + ".httpGet.scheme", oneOf("HTTP", "HTTPS")},
	{probes + ".initialDelaySeconds|timeoutSeconds|periodSeconds|successThreshold|failureThreshold", atLeast0},
	{every + "livenessProbe|startupProbe.successThreshold", one},
	// A restart rule applies in addition to a restart policy of the container (KEP-5307).
	{every + "restartPolicy", oneOf("Always", "Never", "OnFailure")},
	{every + "restartPolicyRules", atMost(20)},
	{every + "restartPolicyRules[].action", always("Restart", "RestartAllContainers")},
	{every + "restartPolicyRules[].exitCodes", specified},
	{every + "restartPolicyRules[].exitCodes.operator", always("In", "NotIn")},
	{every + "restartPolicyRules[].exitCodes.values", atMost(255)},
	{"ephemeralContainers", forbidden("ephemeral containers not allowed in pod template")},
	{"volumes[].name", named},
	{"volumes[]", single("volume", "emptyDir", "hostPath", "secret", "nfs", "persistentVolumeClaim", "downwardAPI",
		"configMap", "projected", "csi", "ephemeral", "image")},
	{"volumes[].hostPath.path", required},
	{"volumes[].secret.secretName", required},
	{"volumes[].configMap.name", required},
	{"volumes[].persistentVolumeClaim.claimName", required},
	{"restartPolicy", oneOf("Always", "OnFailure", "Never")},
	{"dnsPolicy", oneOf("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")},
	{"preemptionPolicy", oneOf("PreemptLowerPriority", "Never")},
	{"activeDeadlineSeconds", deadline},
	{"hostname|subdomain", label},
	{"nodeName|priorityClassName|runtimeClassName|serviceAccountName", domain},
}

// subdomain checks a name that must not be empty.
func subdomain(path *field.Path, value any) field.ErrorList {
	s, _ := value.(string)
	return invalid(path, s, validation.IsDNS1123Subdomain(s))
}

// source checks where the value of a variable comes from.
func source(path *field.Path, value any) field.ErrorList {
	variable, _ := value.(map[string]any)
	from, _ := variable["valueFrom"].(map[string]any)
	message := ""
	switch {
	case from == nil:
		return nil
	case len(from) == 0:
		message = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or " +
			"`fileKeyRef`"
	case !isZero(variable["value"]):
		message = "may not be specified when `value` is not empty"
	case len(from) > 1:
		message = "may not have more than one field specified at a time"
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("valueFrom"), "", message)}
}

func envFrom(path *field.Path, value any) field.ErrorList {
	if from, _ := value.(map[string]any); from["configMapRef"] != nil || from["secretRef"] != nil {
		return nil
	}
	// the API server leaves the index out
	return field.ErrorList{field.Invalid(field.NewPath(path.String()[:strings.LastIndexByte(path.String(), '[')]), "",
		"must specify one of: `configMapRef` or `secretRef`")}
}

func specified(path *field.Path, value any) field.ErrorList {
	if value == nil {
		return field.ErrorList{field.Required(path, "must be specified")}
	}
	return nil
}

func deadline(path *field.Path, value any) field.ErrorList {
	if n, ok := value.(int64); ok && (n < 1 || n > math.MaxInt32) {
		return field.ErrorList{field.Invalid(path, n, validation.InclusiveRangeError(1, math.MaxInt32))}
	}
	return nil
}

func handler(path *field.Path, value any) field.ErrorList {
	fields, _ := value.(map[string]any)
	if fields == nil {
		return nil
	}
	if !slices.ContainsFunc(handlers, func(name string) bool { return fields[name] != nil }) {
		return field.ErrorList{field.Required(path, "must specify a handler type")}
	}
	return single("handler", handlers...)(path, value)
}

var handlers = []string{"exec", "httpGet", "tcpSocket", "grpc"}

// handlerPort checks a port, which may be a name.
func handlerPort(path *field.Path, value any) field.ErrorList {
	switch v := value.(type) {
	case int64:
		return invalid(path, v, validation.IsValidPortNum(int(v)))
	case string:
		return invalid(path, v, validation.IsValidPortName(v))
	}
	return nil
}

// containers applies the rules that relate fields to each other.
func containers(pod *corev1.PodSpec, volumes map[string]bool, path *field.Path) (errs field.ErrorList) {
	names, hostPorts := map[string]bool{}, map[string]bool{}
	for i := range pod.Containers {
		at := path.Child("containers").Index(i)
		names[pod.Containers[i].Name] = true
		errs = append(errs, conflicts(pod.Containers[i].Ports, hostPorts, at.Child("ports"))...)
		errs = append(errs, container(&pod.Containers[i], volumes, at)...)
	}
	for i := range pod.InitContainers {
		c, at := &pod.InitContainers[i], path.Child("initContainers").Index(i)
		if names[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = names[c.Name] || c.Name != ""
		errs = append(errs, container(c, volumes, at)...)
		errs = append(errs, conflicts(c.Ports, map[string]bool{}, at.Child("ports"))...)
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			const message = "may not be set for init containers without restartPolicy=Always"
			errs = append(errs, table(Fields(c), at,
				[]row{{"lifecycle|livenessProbe|readinessProbe|startupProbe", forbidden(message)}})...)
		}
	}
	return errs
}

// conflicts finds ports of the host that are taken.
func conflicts(ports []corev1.ContainerPort, taken map[string]bool, path *field.Path) (errs field.ErrorList) {
	for i, p := range ports {
		key := fmt.Sprintf("%s/%s/%d", p.Protocol, p.HostIP, p.HostPort)
		if p.HostPort != 0 && taken[key] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("hostPort"), key))
		}
		taken[key] = true
	}
	return errs
}

func container(c *corev1.Container, volumes map[string]bool, path *field.Path) (errs field.ErrorList) {
	for i, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			errs = append(errs, field.NotFound(path.Child("volumeMounts").Index(i).Child("name"), m.Name))
		}
	}
	if len(c.RestartPolicyRules) > 0 && c.RestartPolicy == nil {
		errs = append(errs,
			field.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used"))
	}
	limits, requests := path.Child("resources", "limits"), path.Child("resources", "requests")
	errs = append(errs, quantities(c.Resources.Limits, limits)...)
	errs = append(errs, quantities(c.Resources.Requests, requests)...)
	for name, request := range c.Resources.Requests {
		limit, limited := c.Resources.Limits[name]
		shared := isNative(name) && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		switch {
		case limited && !shared && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(requests, request.String(),
				fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(requests, request.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		case !limited && !shared:
			errs = append(errs, field.Required(limits, "Limit must be set for non overcommitable resources"))
		}
	}
	return errs
}

// isNative reports whether Kubernetes itself defines a resource. The API server counts others in whole
// numbers.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// quantities checks the names and values of resources.
func quantities(list corev1.ResourceList, path *field.Path) (errs field.ErrorList) {
	for name, value := range list {
		at := path.Key(string(name))
		messages := validation.IsQualifiedName(string(name))
		standard := slices.Contains(standardResources, name) ||
			strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		if len(messages) == 0 && !standard && !strings.Contains(string(name), "/") {
			messages = []string{"must be a standard resource type or fully qualified",
				"must be a standard resource for containers"}
		}
		if !isNative(name) && strings.HasPrefix(string(name), "requests.") {
			messages = append(messages, "doesn't follow extended resource name standard")
		}
		errs = append(errs, invalid(at, string(name), messages)...)
		switch {
		case value.Cmp(resource.Quantity{}) < 0:
			errs = append(errs, field.Invalid(at, value.String(), "must be greater than or equal to 0"))
		case !isNative(name) && value.MilliValue()%1000 != 0:
			errs = append(errs, field.Invalid(at, value.String(), "must be an integer"))
		}
	}
	return errs
}

var standardResources = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory,
	corev1.ResourceEphemeralStorage}
