package server

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ManagedBy is the default name of the controller of jobfate.
const ManagedBy = "jobfate.dev/controller"

// The programs of this repository, relative to this module.
const (
	controllerDir = "../../controller/jobfate-controller"
	groupDir      = "../../examples/jobgroup"
	suiteDir      = "../../examples/suite"
)

// controllerDeploy is the folder with the manifests of jobfate's controller.
const controllerDeploy = controllerDir + "/deploy/"

// NamespaceRights is the file with the permissions of jobfate's controller in one namespace.
const NamespaceRights = controllerDeploy + "one-namespace/rights/rbac.yaml"

// Options configures a Job controller. The zero value gives both controllers equal limits.
type Options struct {
	// Name is the name of the log file, if there are several controllers of a kind.
	Name string
	// Via changes the address of the server, as proxy.Proxy.Config does.
	Via func(*rest.Config) *rest.Config
	// Workers is the number of concurrent syncs; 0 means 5, as in Kubernetes.
	Workers int
	// QPS and Burst limit the requests; 0 means 200 and 400. With Kubernetes' defaults, 20 and
	// 30, tests of many pods would only wait for the limit.
	QPS, Burst int
	// Namespaces lists the namespaces in which jobfate's controller has permissions and runs
	// Jobs; none means all.
	Namespaces []string
	// Metrics switches metrics on, for Controller.Metrics.
	Metrics bool
	// Args are appended to the other arguments.
	Args []string

	metrics string // where they are served
}

func (o Options) withDefaults(name string) Options {
	o.Name, o.Workers = cmp.Or(o.Name, name), cmp.Or(o.Workers, 5)
	if o.QPS == 0 {
		o.QPS, o.Burst = 200, 400
	}
	return o
}

// Controller is a Job controller, which may be killed and started again.
type Controller struct {
	*Process // the present one, or the last

	dir, program, metrics string
	args                  []string
}

// Start starts a controller that was killed or stopped.
func (c *Controller) Start() error {
	p, err := launch(c.dir, c.Name, c.program, c.args...)
	if err == nil {
		c.Process = p
	}
	return err
}

// BuiltIn starts Kubernetes' own Job controller, which runs every Job that names no other, with
// the permissions that Kubernetes gives it.
func (s *Server) BuiltIn(ctx context.Context, o Options) (*Controller, error) {
	// The metrics server generates a certificate and requires none.
	o = o.withDefaults("built-in").serving("https",
		"--bind-address=ADDRESS", "--secure-port=8080", "--authorization-always-allow-paths=/metrics")
	return s.manager(ctx, "job-controller", o,
		"--controllers=job-controller",
		"--concurrent-job-syncs="+strconv.Itoa(o.Workers),
		"--kube-api-qps="+strconv.Itoa(o.QPS),
		"--kube-api-burst="+strconv.Itoa(o.Burst),
	)
}

// Jobfate starts controller/jobfate-controller with the permissions of its manifests.
func (s *Server) Jobfate(ctx context.Context, o Options) (*Controller, error) {
	o = o.withDefaults("jobfate").serving("http", "--metrics-bind-address=ADDRESS:8080")
	manifests := controllerDeploy + "all-namespaces"
	if len(o.Namespaces) > 0 {
		manifests = controllerDeploy + "base"
	}
	for _, namespace := range o.Namespaces {
		if _, err := s.Apply(ctx, namespace, NamespaceRights); err != nil {
			return nil, err
		}
	}
	return s.example(ctx, controllerDir, o, []string{manifests},
		"--namespaces="+strings.Join(o.Namespaces, ","),
		"--concurrent-syncs="+strconv.Itoa(o.Workers),
		"--qps="+strconv.Itoa(o.QPS),
		"--burst="+strconv.Itoa(o.Burst),
		"--managed-by="+ManagedBy,
	)
}

// JobGroups starts examples/jobgroup, which runs its Jobs itself, with the permissions of its
// manifests. It ignores the options for limits and workers.
func (s *Server) JobGroups(ctx context.Context, o Options) (*Controller, error) {
	return s.example(ctx, groupDir, o.withDefaults("jobgroup"), crdAndRights(groupDir))
}

// Suites starts examples/suite with the permissions of its manifests. It ignores the options
// for limits and workers.
func (s *Server) Suites(ctx context.Context, o Options) (*Controller, error) {
	return s.example(ctx, suiteDir, o.withDefaults("suite"), crdAndRights(suiteDir))
}

func crdAndRights(dir string) []string {
	return []string{dir + "/deploy/crd.yaml", dir + "/deploy/rbac.yaml"}
}

// example starts the controller of a folder as the service account of its manifests, with their
// permissions.
func (s *Server) example(ctx context.Context, dir string, o Options, manifests []string,
	args ...string) (*Controller, error) {
	program, err := s.builds.of(dir, func() (string, error) { return BuildMain(ctx, dir) })
	if err != nil {
		return nil, err
	}
	objects, err := s.Apply(ctx, "", manifests...)
	if err != nil {
		return nil, err
	}
	o.Args = slices.Concat(args,
		[]string{"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"}, o.Args)
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" {
			return s.Program(ctx, program, object.GetNamespace(), object.GetName(), o)
		}
	}
	return nil, fmt.Errorf("none of %v is a ServiceAccount", manifests)
}

// manager starts a kube-controller-manager for one of its controllers, as the service account
// for which Kubernetes has a role.
func (s *Server) manager(ctx context.Context, account string, o Options, args ...string) (*Controller, error) {
	program, err := s.builds.of(controllerManager, func() (string, error) {
		return build(ctx, s.tools, controllerManager)
	})
	if err != nil {
		return nil, err
	}
	o.Args = slices.Concat(args, []string{"--leader-elect=false", "--secure-port=0"}, o.Args)
	return s.Program(ctx, program, "kube-system", account, o)
}

// Program starts a program as a service account, with the arguments of the options. It ignores those for limits and
// workers.
func (s *Server) Program(ctx context.Context, program, namespace, account string, o Options) (*Controller, error) {
	config, err := s.Account(ctx, namespace, account)
	if err != nil {
		return nil, err
	}
	if o.Via != nil {
		config = o.Via(config)
	}
	file, err := s.Kubeconfig(o.Name, config)
	if err != nil {
		return nil, err
	}
	c := &Controller{dir: s.dir, program: program, metrics: o.metrics,
		args: append([]string{"--kubeconfig=" + file}, o.Args...), Process: &Process{Name: o.Name}}
	if err := c.Start(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controllers = append(s.controllers, c)
	return c, nil
}

// Kubeconfig writes the configuration of a client into a file in the folder of the server.
func (s *Server) Kubeconfig(name string, config *rest.Config) (file string, err error) {
	file = filepath.Join(s.dir, name+".kubeconfig")
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["e2e"] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthority:     config.CAFile,
		CertificateAuthorityData: config.CAData,
	}
	kubeconfig.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	kubeconfig.CurrentContext = "e2e"
	return file, clientcmd.WriteToFile(*kubeconfig, file)
}
