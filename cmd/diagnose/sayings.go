package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// saying is what programs say of a trouble that many of them have.
type saying struct {
	// says lists parts of the message, see speaks. means completes "a container says …", and advice says what to do.
	says          []string
	means, advice string
	account       bool // it is about an account, whose Secret or ServiceAccount the template names
}

// speaks reports whether a message has one of the parts, which are in lower case. A * stands for anything.
func speaks(message string, parts ...string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc(parts, func(part string) bool {
		rest, has := message, true
		for piece := range strings.SplitSeq(part, "*") {
			if has {
				_, rest, has = strings.Cut(rest, piece)
			}
		}
		return has
	})
}

// passing lists parts of the messages of failures that a later try may not have.
var passing = []string{"connection refused", "connection reset", "connection timed out", "i/o timeout",
	"deadline exceeded", "no such host", "temporary failure", "service unavailable", "too many requests",
	"bad gateway", "gateway timeout", "gateway time-out", "http 429", "http 502", "http 503", "http 504",
	"http/1.1 429", "http/1.1 502", "http/1.1 503", "http/1.1 504"}

// sayings lists the troubles in the order of their rank.
var sayings = []saying{
	{[]string{"uncorrectable ecc", "fallen off the bus", "hardware error"}, "that hardware has failed",
		"Hardware of node NODE seems to have failed: cordon the node, and have it examined.", false},
	{[]string{"pkix path", "signed by unknown authority", "certificate verify failed", "certificate_verify_failed",
		"local issuer certificate", "self-signed certificate", "self signed certificate", "certificate has expired"},
		"that it does not trust the certificate of a server",
		"See the certificate of the server: if it has expired, renew it there; if an authority of your own signed " +
			"it, mount the certificate of that authority where the program of container CONTAINER looks for it.",
		false},
	{[]string{"host identification has changed", "host key verification failed"},
		"that a server has another host key than the one that is known",
		"Have the owner of the server confirm the new key before you write it to known_hosts: it may be that of " +
			"another server.", false},
	{[]string{"nocredentials", "unable to locate credentials", "could not find default credentials",
		"defaultcredentialserror", "environmentcredential"}, "that it has no credentials for a cloud",
		"Give the pods a ServiceAccount with a role of the cloud (serviceAccountName of the pod template), or the " +
			"credentials from a Secret.", true},
	{[]string{"invalid header field value", "invalid header value", "illegal header value"},
		"that a header has a value which is not valid",
		"See whether the value ends with a line break in the Secret or ConfigMap that it is from: echo writes one, " +
			"printf and --from-literal do not.", true},
	{[]string{"expiredtoken", "invalidclienttokenid", "token is expired", "token has expired", "token expired",
		"password authentication failed", "access denied for user", "authentication failed", "authentication required",
		"401 unauthorized", "401: unauthorized", "401 client error", "http 401", "unauthenticated",
		"invalid credentials", "publickey)", "incorrect username or password", "user account has been*locked"},
		"that a server does not accept its credentials",
		"Renew or correct the credentials that container CONTAINER uses. Variables are read when a pod starts.", true},
	{[]string{"accessdenied", "403 forbidden", "403: forbidden", "403 client error", "http 403",
		"permission denied for ", "permission_denied", "not authorized", "insufficient privilege",
		"insufficient permission", "is forbidden: user"}, "that it may not do something on a server",
		"Grant what the message names to the account that container CONTAINER uses there, or use another one.", true},
	{[]string{"no space left on device", "enospc", "disk full", "disk quota exceeded"},
		"that there is no space left where it writes",
		"Free space where container CONTAINER writes, or use a larger volume. Without a volume, that is the disk of " +
			"node NODE.", false},
	{[]string{"modulenotfounderror", "no module named", "cannot find module", "classnotfoundexception",
		"noclassdeffounderror", "cannot open shared object file", "glibc*not found", "cannot load such file"},
		"that its image lacks a library",
		"Build the image with what the message names, or use the image before.", false},
	{[]string{"lock wait timeout", "deadlock detected", "could not obtain lock", "the state lock", "lock timeout",
		"database is locked", "already locked", "unable to create lock"}, "that a lock is held",
		"Find out what holds the lock, and whether it still runs, before you break it.", false},
	{[]string{"too many clients", "too many connections", "remaining connection slots"},
		"that a server has no connection left",
		"Let fewer pods run at once (spec.parallelism can be lowered while a Job runs), or raise the limit of the " +
			"server.", false},
	{[]string{"read-only transaction", "read-only replica", "read only replica", "read-only mode",
		"--read-only option"}, "that a database takes no writes",
		"See whether the database has failed over or is full: what the container calls only reads.", false},
	{[]string{`relation "*" does not exist`, `column * does not exist`, "unknown column", "no such table",
		"no such column", "table '*' doesn't exist", "undefinedtable", "undefinedcolumn"},
		"that a database lacks a table or a column",
		"See whether the migration that makes it has run there, and whether it is the right database.", false},
	{[]string{"unrecognized argument", "unknown flag", "unknown shorthand flag", "unknown option", "unknown command",
		"no such option", "flag provided but not defined", "unexpected argument", "invalid option"},
		"that it does not know an argument",
		"Correct the arguments of container CONTAINER, or use an image whose program has them.", false},
	{[]string{"no such host", "server misbehaving", "name or service not known", "failed to resolve", "getaddrinfo",
		"failure in name resolution", "unknownhostexception", "could not translate host name", "could not resolve",
		"lookup * on *: "}, "that it could not resolve a name",
		"Check the name. If it is right, see whether the DNS of the cluster answers (kubectl get pods -n kube-system " +
			"-l k8s-app=kube-dns), and whether a NetworkPolicy lets port 53 through.", false},
	{passing, "that a service which it calls failed, or could not be reached",
		"See whether what the message names is up, and can be reached (NetworkPolicy, firewall); the failure may " +
			"have passed.", false},
}

// sayingIn returns the first of the sayings that a message is; nil if it is none.
func sayingIn(message string) *saying {
	at := slices.IndexFunc(sayings, func(s saying) bool { return speaks(message, s.says...) })
	if at < 0 {
		return nil
	}
	return &sayings[at]
}

// adviceIn returns the advice on a message.
func adviceIn(message string) string {
	return cmp.Or(sayingIn(message), &saying{advice: "Fix what it says."}).advice
}

const wholeLog = " The whole log: kubectl logs -n NAMESPACE POD -c CONTAINER."

// said returns a mishap for each saying.
func said() (all []mishap) {
	for i := range sayings {
		s := &sayings[i]
		all = append(all, mishap{"a container says " + s.means, s.advice + wholeLog, func(_ *facts, c *found) bool {
			return c.container != "" && c.saying == s
		}})
	}
	return all
}

// account says from where a container has its credentials, if a server does not accept them.
func (f *facts) account(c *corev1.Container, message string) (text, object string) {
	if s := sayingIn(message); s == nil || !s.account {
		return "", ""
	}
	var from []string
	for _, v := range c.Env {
		if ref := cmp.Or(v.ValueFrom, &corev1.EnvVarSource{}).SecretKeyRef; ref != nil {
			from = append(from, "variable "+v.Name+" is from key "+ref.Key+" of Secret "+ref.Name)
		}
	}
	for _, v := range c.EnvFrom {
		if v.SecretRef != nil {
			from = append(from, "variables are from Secret "+v.SecretRef.Name)
		}
	}
	for _, v := range f.Job.Spec.Template.Spec.Volumes {
		if v.Secret != nil && slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == v.Name
		}) {
			from = append(from, "volume "+v.Name+" is Secret "+v.Secret.SecretName)
		}
	}
	runs := speaks(message, "credentials", "accessdenied", "assumerole", "forbidden: user")
	const most = 3
	return cmp.Or(strings.Join(from[:min(most, len(from))], ", "), textIf(runs, "the pods run as ServiceAccount "+
		cmp.Or(f.Job.Spec.Template.Spec.ServiceAccountName, "default"))), ""
}

// spaced matches a command that is one string, though it has several words.
var spaced = regexp.MustCompile(`exec: "[^"]+ [^"]*": (stat |executable file not found|no such file)`)

// substituted matches what a shell would replace.
var substituted = regexp.MustCompile("\\$\\([a-z][^)]*\\)|`[^`]+`")

// shell says that an argument in a message has what only a shell replaces, and none does.
func (f *facts) shell(c *corev1.Container, message string) (text, object string) {
	words := slices.Concat(c.Command, c.Args)
	if slices.ContainsFunc(words, func(word string) bool { return word == "-c" || strings.HasSuffix(word, "sh") }) {
		return "", ""
	}
	for _, word := range words {
		if part := substituted.FindString(word); part != "" && strings.Contains(message, part) {
			return part + " is passed as it is: no shell replaces it", ""
		}
	}
	return "", ""
}
