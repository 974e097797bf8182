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
}

// speaks reports whether a message has one of the parts, which are in lower case. A * stands for anything.
func speaks(message string, parts ...string) bool { return contains(strings.ToLower(message), parts) }

// contains does the same with a message in lower case.
func contains(message string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		piece, next, more := strings.Cut(part, "*")
		_, rest, has := strings.Cut(message, piece)
		for has && more {
			piece, next, more = strings.Cut(next, "*")
			_, rest, has = strings.Cut(rest, piece)
		}
		return has
	})
}

// passing lists parts of the messages of failures that a later try may not have.
var passing = []string{"connection refused", "connection to * refused", "connection reset", "connection timed out",
	"i/o timeout", "io timeout", "deadline exceeded", "no such host", "temporary failure", "service unavailable",
	"too many requests", "no route to host", "network is unreachable", "server closed the connection", "broken pipe",
	"reset by peer",
	"is starting up", "is shutting down", "administrator command", "server shutdown in progress",
	"connection was closed", "timed out", "econnrefused", "etimedout",
	"can't reach", "cannot reach", "could not connect", "couldn't connect", "cannot connect to", "failed to connect",
	"unable to connect", "communications link failure", "connection attempt failed", "cannot contact",
	"no listener", "error occurred while establishing a connection", "timeout expired", "closed by remote",
	"loading the dataset", "not primary", "is sealed", "internal server error", "returned error: 5",
	"econnreset", "bad gateway", "gateway timeout", "gateway time-out", "http 429", "http 502", "http 503",
	"http 504", "http/1.1 429", "http/1.1 502", "http/1.1 503", "http/1.1 504"}

// lockHeld is what a saying means.
const lockHeld = "that a lock is held"

var noConnection = []string{"too many clients", "too many connections", "remaining connection slots"}

// accountSayings are those about an account, whose Secret or ServiceAccount the template names.
var accountSayings = []saying{
	{[]string{"nocredentials", "unable to locate credentials", "could not find default credentials",
		"defaultcredentialserror", "environmentcredential", "no valid credential sources"},
		"that it has no credentials for a cloud",
		"Give the pods a ServiceAccount with a role of the cloud (serviceAccountName of the pod template), or the " +
			"credentials from a Secret."},
	{[]string{"invalid header field value", "invalid header value", "illegal header value"},
		"that a header has a value which is not valid",
		"See whether the value ends with a line break in the Secret or ConfigMap that it is from: echo writes one, " +
			"printf and --from-literal do not."},
	{[]string{"expiredtoken", "invalidclienttokenid", "token is expired", "token has expired", "token expired",
		"password authentication failed", "access denied for user", "authentication failed", "authentication required",
		" unauthorized", "\nunauthorized", "(unauthorized", "unauthorized:", "unauthorizedop", "unauthorizederror",
		"invalid token", "bad token", "401 client error", "http 401", "unauthenticated",
		"invalid credentials", "publickey)", "invalidcredentials",
		"incorrect username or password", "user account has been*locked",
		"could not read username",
		"invalid username or password", "bad credentials", "login incorrect", "ora-01017", "noauth", "wrongpass",
		"signaturedoesnotmatch", "invalidaccesskeyid", "invalid_grant", "invalid_client", "invalid api key",
		"api key not valid", "incorrect api key", "login failed for user", "wrong password", "logon_failure",
		"credentials invalid", "access key id you provided", "push permissions", "returned error: 401",
		`role "*" does not exist`},
		"that a server does not accept its credentials",
		"Renew or correct the credentials that container CONTAINER uses. Variables are read when a pod starts."},
	{[]string{"assumed-role/*/i-0", "-compute@developer.gserviceaccount.com"},
		"that it may not do something as its node",
		"The pods have no account of their own for the cloud, and use that of their node: give them a ServiceAccount " +
			"with a role, rather than more rights to the node, which all its pods have."},
	{[]string{"accessdenied", "access denied", "forbidden", "403 client error", "http 403", "permission denied for ",
		"permission_denied", "not authorized", "insufficient privilege", "insufficient permission",
		"permission denied on", "returned error: 403", "must be owner of", "ora-01031", "does not have permission",
		"does not have * access"},
		"that it may not do something on a server",
		"Grant what the message names to the account that container CONTAINER uses there, or use another one."},
	{[]string{"pending deletion", "kmsinvalidstate", "keydisabled", "scheduled for deletion"},
		"that what it uses is to be deleted, or is disabled",
		"See at once who has done that, and whether it can be taken back: what is encrypted with a key is lost with " +
			"it."},
}

// sayings lists the troubles in the order of their rank.
var sayings = slices.Concat([]saying{
	{[]string{"uncorrectable ecc", "fallen off the bus", "hardware error"}, "that hardware has failed",
		"Hardware of node NODE seems to have failed: cordon the node, and have it examined."},
	{[]string{"insufficient shared memory", "out of shared memory", "unable to write to file </torch", "bus error",
		"'/dev/shm", "unable to open shared memory", "could not resize shared memory"},
		"that its shared memory is used up",
		"Mount an emptyDir of medium Memory at /dev/shm in the pod template: it has 64 MB by default. What is " +
			"written there counts against the memory limit."},
	{[]string{"cuda out of memory", "cuda error: out of memory", "cublas_status_alloc_failed",
		"cuda_error_out_of_memory", "outofmemoryerror: cuda"}, "that a GPU has no memory left",
		"Make it use less memory of the GPU (a smaller batch, fewer processes per GPU), or select nodes with larger " +
			"GPUs: the memory limit of the container does not count there."},
	{[]string{"cuda driver version is insufficient", "no kernel image is available", "no cuda-capable device",
		"found no nvidia driver", "no cuda gpus are available", "could not load dynamic library 'libcuda",
		"failed to initialize nvml"}, "that it cannot use a GPU",
		"See whether container CONTAINER requests a GPU (nvidia.com/gpu), and whether the driver and the GPU of node " +
			"NODE fit the CUDA of its image."},
	{[]string{"can't start new thread", "unable to create native thread", "pthread_create failed",
		"fork: *resource temporarily unavailable", "fork/exec * resource temporarily unavailable"},
		"that it may start no further thread or process",
		"Let it start fewer threads (OMP_NUM_THREADS, the size of its pool), or raise the limit of processes per pod " +
			"of the kubelet (podPidsLimit)."},
	{[]string{"heap out of memory", "java heap space", "gc overhead limit", "reached heap limit",
		"outofmemoryerror: metaspace"},
		"that its heap is full",
		"Raise the limit of its heap (--max-old-space-size, -Xmx or -XX:MaxRAMPercentage) and MEMORY with it, or " +
			"make it use less."},
	{[]string{"cannot allocate memory", "memoryerror", "bad_alloc", "unable to allocate * for an array",
		"failed to allocate memory"}, "that it could get no memory",
		"Raise MEMORY to what it needs, or make it use less."},
	{[]string{"too many open files"}, "that it has too many files open",
		"Let it keep fewer files and connections open, or raise its limit (ulimit -n) in the image or the runtime of " +
			"node NODE."},
	{[]string{"wrong version number", "does not look like a tls handshake", "plain http request was sent to https",
		"server gave http response to https client"}, "that only one side of a connection speaks TLS",
		"Correct the port, or the scheme (http or https) of the address."},
	{[]string{"certificate is valid for", "hostname mismatch", "no alternative certificate subject name",
		"no subject alternative", "doesn't match the certificate"},
		"that the certificate of a server is for another name",
		"Call the server by a name that its certificate has, or renew the certificate with this name."},
	{[]string{"requesttimetooskewed", "not yet valid*is before", "certificate is not yet valid", "clock skew",
		"token used before issued"}, "that two clocks differ",
		"Look at the clock of node NODE (timedatectl, chronyc tracking)."},
	{[]string{"certificate has expired", "certificate expired", "certificateexpired"},
		"that the certificate of a server has expired",
		"Renew the certificate of the server that the message names, there; if it has been renewed, the server may " +
			"have to be restarted to use it. The Job is not at fault."},
	{[]string{"pkix path", "signed by unknown authority", "certificate verify failed", "certificate_verify_failed",
		"local issuer certificate", "self-signed certificate", "self signed certificate"},
		"that it does not trust the certificate of a server",
		"See the certificate of the server: if an authority of your own signed it, mount the certificate of that " +
			"authority where the program of container CONTAINER looks for it."},
	{[]string{"host identification has changed", "host key verification failed"},
		"that a server has another host key than the one that is known",
		"Have the owner of the server confirm the new key before you write it to known_hosts: it may be that of " +
			"another server."},
}, accountSayings, []saying{
	{[]string{"no matches for kind", "could not find the requested resource", "doesn't have a resource type"},
		"that a cluster does not serve a kind in a version",
		"See which versions the cluster serves (kubectl api-resources), and write one of them into the manifests. " +
			"Install the CustomResourceDefinition only if there is none."},
	{[]string{"rate limit", "ratelimit", "too many requests", "slowdown", "throttling", "rate exceeded", "code: 429",
		"error 429", "http 429", "http/1.1 429", "status 429"}, "that a server limits the number of calls",
		"Let fewer pods run at once (spec.parallelism can be lowered while a Job runs), and wait longer between " +
			"calls: retries at once make it worse."},
	{[]string{"quotaexceeded", "quota exceeded", "quota * exceeded", "exceeded quota", "exceeded your current quota",
		"resource_exhausted", "limitexceeded", "insufficient_quota", "limit has been reached", "exceeded its quota",
		"maxmemory"},
		"that a quota of a service is used up",
		"Free what counts against the quota that the message names, or have it raised: retries do not help."},
	{[]string{"diskfull", "could not extend file", "unable to extend", "error 1114", "the table '*' is full",
		"database is full", "disk full (/", "flood-stage watermark", "read-only-allow-delete"},
		"that the disk of a database is full",
		"Free or enlarge the volume of the database that the container calls: it is not the disk of this pod."},
	{[]string{"no space left on device", "enospc", "disk full", "disk quota exceeded"},
		"that there is no space left where it writes",
		"Free space where container CONTAINER writes, or use a larger volume. Without a volume, that is the disk of " +
			"node NODE."},
	{[]string{"read-only file system", "readonly file system", "erofs"}, "that a file system is read-only",
		"See whether the volume or its mount is readOnly in the pod template. If not, the file system of the volume " +
			"or of node NODE may have turned read-only after an error: look at the node's log."},
	{[]string{"stale file handle", "input/output error", "transport endpoint is not connected", "estale"},
		"that a file system has failed",
		"Look at the disk or the file server behind the volume, and at node NODE: the mount may need a new pod."},
	{[]string{"unauthorizedaccess", "permission denied: '/", "eacces", "*/*: permission denied",
		"permission denied (os error",
		"permission denied: \"/", "': permission denied"}, "that it may not read, write or execute a file",
		"See who may use the file that the message names, and as which user and group container CONTAINER runs " +
			"(runAsUser, runAsGroup, fsGroup)."},
	{[]string{"operation not permitted"}, "that it lacks a right on its node",
		"See which user or capability it needs (securityContext of container CONTAINER), and whether the namespace " +
			"allows that."},
	{[]string{"bad interpreter", "python3\\r", "bash\\r", "'\\r'", "\\r: command not found", "required file not found"},
		"that a script cannot be run as it is saved",
		"Save the script with the line ends of Unix (\\n), and see that the interpreter of its first line is in the " +
			"image."},
	{[]string{"server version mismatch", "requires newer client", "client version * is too old"},
		"that it is older than its server",
		"Use an image with a version at least as new as that of the server. What the failed run has written may be " +
			"empty or incomplete."},
	{[]string{"command not found", "sh: *: not found", "sh: line *: not found", "executable file not found",
		"unsupportedclassversion", "requires python", "no such command", "missing script"},
		"that its image lacks a program, or has another version of it",
		"Use an image that has the program, or correct its name."},
	{[]string{"modulenotfounderror", "no module named", "cannot find module", "classnotfoundexception",
		"noclassdeffounderror", "cannot import name", "cannot open shared object file", "glibc*not found",
		"cannot load such file"},
		"that its image lacks a library",
		"Build the image with what the message names, or use the image before."},
	{[]string{"lock wait timeout", "deadlock detected", "could not obtain lock", "the state lock", "lock timeout",
		"database is locked", "already locked", "unable to create lock", "another operation * in progress",
		"is locked by", "resource is locked", "leasealreadypresent", "lock file exists", "lockexception"},
		lockHeld,
		"Find out what holds the lock, and whether it still runs, before you break it."},
	{[]string{"statement timeout", "max_execution_time", "query timeout", "query exceeded", "ora-01013",
		"warehouse timeout"},
		"that a database has ended its statement",
		"See why the statement takes that long (a lock, a missing index, more data), before you raise the timeout " +
			"that the message names."},
	{[]string{"no pg_hba.conf entry", "not allowed to connect to this"}, "that a server takes no connection from it",
		"Let the server take connections from the address, the user and with the encryption that the message names " +
			"(pg_hba.conf, the grants of the user), or use TLS if it says so (sslmode)."},
	{noConnection, "that a server has no connection left",
		"See who holds the connections of the server. Let the program open fewer at once, or fewer pods run " +
			"(spec.parallelism can be lowered while a Job runs), or raise its limit."},
	{[]string{"read-only transaction", "read-only replica", "read only replica", "read-only mode",
		"--read-only option"}, "that a database takes no writes",
		"See whether the database has failed over or is full: what the container calls only reads."},
	{[]string{`relation "*" does not exist`, `column * does not exist`, "unknown column", "no such table",
		"no such column", "table '*' doesn't exist", "undefinedtable", "undefinedcolumn", "invalid identifier",
		"invalid object name", "invalid column name", "unresolved_column", "unrecognized name:", "ora-00904",
		"ora-00942", "pendingmigration", "migrations are pending", "unapplied migration"},
		"that a database lacks a table or a column",
		"See what has changed: the statement (another image, another model), or the database, by a migration that " +
			"has not run yet, or one that has renamed or removed what the message names. It may be another database, " +
			"too. Until they fit, each run fails alike."},
	{[]string{"dirty database version", "found failed migrations", "p3018"},
		"that an earlier migration has stopped half-way",
		"See what that migration has done in the database, and complete or undo it, before you set the version " +
			"(force)."},
	{[]string{"exec format error"}, "that its program is not built for the architecture of its node",
		"See for which architectures the image is built (docker manifest inspect), and select nodes that have one " +
			"(nodeSelector kubernetes.io/arch), or build it for that of node NODE, too."},
	{[]string{"can't locate revision", "no migration found for version", "applied migration not resolved locally"},
		"that a database has a migration which its image does not",
		"Use an image that has the migration which the message names: the database has it, of a newer image or of " +
			"another branch. To go back, undo it with that image, and do not only set the version."},
	{[]string{"checksum mismatch for migration", "migration checksum", "changesets check sum",
		"validate failed: migration",
		"multiple head revisions", "inconsistentmigrationhistory", "conflicting migrations"},
		"that its migrations do not fit the database or each other",
		"Correct the migrations in the code, not the database: compare those that the image has with those that the " +
			"database has recorded."},
	{[]string{"duplicate key", "duplicate entry", "unique constraint", "uniqueviolation", "alreadyexists",
		"already exists", "409 conflict", "409 client error"}, "that what it makes is there already",
		"See what has made it: an earlier try that did part of the work, another pod, or another run. Remove what is " +
			"half done only if it is; then let the program accept what is there."},
	{[]string{"nosuchkey", "nosuchbucket", "no such bucket", "blobnotfound", "the specified key does not exist",
		"the specified bucket does not exist", "bucket does not exist", "index_not_found",
		"returned error: 404", "404 not found", "404: not found", "http 404", "status code 404",
		"404 client error", "no files found", "no objects found", "no such object", "input path does not exist",
		"path does not exist", "nosuchfile", "unknown topic", "unknown_topic", "topic * not present",
		"table or view not found", "table not found", "(notfound)"}, "that what it reads is not there",
		"See whether what the message names exists where it looks, and what should have made it: the name or the " +
			"date may be wrong, or an earlier step late. A retry helps only once it is there."},
	{[]string{"license server", "no license", "license has expired", "license expired", "valid license",
		"checkout license", "license checkout", "licence"}, "that it gets no licence",
		"See whether the licence is valid, and whether the licence server has one free and can be reached."},
	{[]string{"unrecognized argument", "unknown flag", "unknown shorthand flag", "unknown option", "unknown command",
		"no such option", "flag provided but not defined", "unexpected argument", "invalid option", "missing option",
		"arguments are required", "required argument", "required flag", "missing argument"},
		"that it does not know an argument, or lacks one",
		"Correct the arguments of container CONTAINER, or use an image whose program has them."},
	{[]string{"no such host", "server misbehaving", "name or service not known", "failed to resolve", "getaddrinfo",
		"failure in name resolution", "unknownhostexception", "could not translate host name", "could not resolve",
		"eai_again", "bad address", "no resolvable bootstrap",
		"lookup * on *: "}, "that it could not resolve a name",
		"Check the name. If it is right, see whether the DNS of the cluster answers (kubectl get pods -n kube-system " +
			"-l k8s-app=kube-dns), and whether a NetworkPolicy lets port 53 through."},
	{[]string{"address already in use", "eaddrinuse"}, "that a port is in use",
		"See which container of the pod, or with hostNetwork which process of node NODE, has the port."},
	{passing, "that a service which it calls failed, or could not be reached",
		"See whether what the message names is up, and can be reached (NetworkPolicy, firewall); the failure may " +
			"have passed."},
	{[]string{"no such file or directory", "filenotfounderror", "enoent", "cannot open file", "can't open file"},
		"that a file is not there",
		"See where the file should be from: the image, a volume, or an earlier step. The path may be wrong, or " +
			"relative to another folder (workingDir)."},
	{[]string{"decodeerror", "cannot unmarshal", "unexpected end of json", "in json at position", "parsererror",
		"parseexception", "invalid input syntax", "malformed", "schema mismatch", "schemamismatch",
		"could not convert string", "invalid literal for", "value too long", "out of range for type",
		"violates not-null", "violates check constraint", "violates foreign key", "badzipfile", "not a gzip file",
		"crc error", "checksum mismatch", "corrupt", "unexpected end of file", "truncated", "invalid data found",
		"unexpected header", "missing column", "validation failed",
		"validationerror", "invalid date", "does not match format", "magic bytes", "eoferror", "recordtoolarge",
		"unparseable", "incorrect string value", "error parsing",
		"invalidoperation"},
		"that its data are not as it expects",
		"See what the message names in the input: with the same data each try fails. Correct the input or set it " +
			"aside, or make the program accept it."},
	{[]string{"tests failed", "test failed", "failing test", "failed tests", "--- fail:", " failed, * passed",
		"test failures", "there were failures", "checks failed"}, "that tests fail",
		"See which tests fail, and of which commit: the Job did its work."},
	{[]string{"keyerror", "attributeerror", "typeerror", "nameerror", "indexerror", "zerodivisionerror",
		"assertionerror", "assertion failed", "valueerror", "device-side assert", "nullpointerexception",
		"nil pointer dereference", "index out of range",
		"of undefined (reading", "of undefined", "nomethoderror", "referenceerror", "unboundlocalerror",
		"indexoutofbounds", "panic: runtime error", "syntaxerror", "syntax error"},
		"that its program has stopped at an error",
		"See what the program does where the message says, and whether its image or its input has changed: without a " +
			"change each try fails."},
})

// sayingIn returns the first of the sayings that a message is; nil if it is none. Its last lines say most: what comes
// before them the program may have survived.
func sayingIn(message string) *saying {
	const last = 2
	message = " " + strings.ToLower(strings.TrimSpace(message))
	lines := strings.Split(message, "\n")
	for _, part := range []string{strings.Join(lines[max(0, len(lines)-last):], "\n"), message} {
		at := slices.IndexFunc(sayings, func(s saying) bool { return contains(part, s.says) })
		if at >= 0 {
			return &sayings[at]
		}
	}
	return nil
}

// mayBeOfNode reports whether the node of a program may be why it says this.
func (s *saying) mayBeOfNode() bool {
	return s == nil || strings.Contains(s.advice, "NODE") || slices.ContainsFunc(s.says, func(part string) bool {
		return mentions(part, "no such host", "no route to host", "no such file or directory")
	})
}

// WholeLog begins the part of an advice that says where the log is.
const WholeLog = " The whole log: "

const wholeLog = WholeLog + "kubectl logs -n NAMESPACE POD -c CONTAINER."

// said returns a mishap for each saying.
func said() (all []mishap) {
	for i := range sayings {
		s := &sayings[i]
		all = append(all, mishap{"a container says " + s.means, s.advice + wholeLog, func(_ *facts, c *found) bool {
			return c.container != "" && c.clue.saying == s
		}})
	}
	return all
}

// ofAccount reports whether a saying is about an account.
func (s *saying) ofAccount() bool {
	return s != nil && slices.ContainsFunc(accountSayings, func(of saying) bool { return of.means == s.means })
}

// account says from where a container has its credentials, if a server does not accept them.
func (f *facts) account(c *corev1.Container, message string) (text, object string) {
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
