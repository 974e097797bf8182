package server

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ManagedBy is the name that the controller of jobfate answers to unless an
// option says otherwise.
const ManagedBy = "jobfate.dev/controller"

// The programs of this repository, from e2e.
const (
	controllerDir = "../examples/controller"
	groupDir      = "../examples/jobgroup"
	suiteDir      = "../examples/suite"
)

// controllerDeploy are the manifests of the controller of jobfate.
const controllerDeploy = controllerDir + "/deploy/"

// Options of a Job controller. The zero value gives equal limits to both.
type Options struct {
	// Name of the log file, when there are several controllers of a kind.
	Name string
	// Via changes where the controller finds the server, as proxy.Proxy.Config does.
	Via func(*rest.Config) *rest.Config
	// Workers is how many Jobs are looked at at once; 0: 5, as in Kubernetes.
	Workers int
	// QPS and Burst limit the requests; 0: 200 and 400. Kubernetes' defaults, 20
	// and 30, would make tests of many pods wait for the limit and nothing else.
	QPS, Burst int
	// Namespaces are those in which the controller of jobfate has rights and looks for Jobs;
	// none: all.
	Namespaces []string
	// Metrics is whether metrics are served, for Controller.Metrics.
	Metrics bool
	// Args are put behind all others.
	Args []string

	metrics string // where they are served
}

func (o Options) withDefaults(name string) Options {
	if o.Name == "" {
		o.Name = name
	}
	if o.Workers == 0 {
		o.Workers = 5
	}
	if o.QPS == 0 {
		o.QPS, o.Burst = 200, 400
	}
	return o
}

// Controller is a Job controller, or none while it is killed.
type Controller struct {
	*Process // the present one, or the last

	dir, program, metrics string
	args                  []string
}

// Start starts a controller again that was killed or stopped.
func (c *Controller) Start() error {
	p, err := launch(c.dir, c.Name, c.program, c.args...)
	if err == nil {
		c.Process = p
	}
	return err
}

// BuiltIn starts Kubernetes' own Job controller, which answers for every Job
// that names no other. It has the rights that Kubernetes gives it.
func (s *Server) BuiltIn(ctx context.Context, o Options) (*Controller, error) {
	// The server of metrics makes up a certificate and asks for none.
	o = o.withDefaults("built-in").serving("https",
		"--bind-address=ADDRESS", "--secure-port=8080", "--authorization-always-allow-paths=/metrics")
	return s.manager(ctx, o.Name, "job-controller", o,
		"--controllers=job-controller",
		"--concurrent-job-syncs="+strconv.Itoa(o.Workers),
		"--kube-api-qps="+strconv.Itoa(o.QPS),
		"--kube-api-burst="+strconv.Itoa(o.Burst),
	)
}

// Jobfate starts examples/controller with the rights of its manifests.
func (s *Server) Jobfate(ctx context.Context, o Options) (*Controller, error) {
	o = o.withDefaults("jobfate").serving("http", "--metrics-bind-address=ADDRESS:8080")
	manifests := []string{controllerDeploy + "account.yaml"}
	for _, namespace := range o.Namespaces {
		if _, err := s.Apply(ctx, namespace, controllerDeploy+"rbac-namespace.yaml"); err != nil {
			return nil, err
		}
	}
	if len(o.Namespaces) == 0 {
		manifests = append(manifests, controllerDeploy+"rbac.yaml")
	}
	return s.example(ctx, controllerDir, o, manifests,
		"--namespaces="+strings.Join(o.Namespaces, ","),
		"--concurrent-syncs="+strconv.Itoa(o.Workers),
		"--qps="+strconv.Itoa(o.QPS),
		"--burst="+strconv.Itoa(o.Burst),
		"--managed-by="+ManagedBy,
	)
}

// JobGroups starts examples/jobgroup, which runs its Jobs itself, with the rights of its
// manifests. Of the options those of limits and workers are not for it.
func (s *Server) JobGroups(ctx context.Context, o Options) (*Controller, error) {
	return s.example(ctx, groupDir, o.withDefaults("jobgroup"), crdAndRights(groupDir))
}

// Suites starts examples/suite with the rights of its manifests. Of the options those of
// limits and workers are not for it.
func (s *Server) Suites(ctx context.Context, o Options) (*Controller, error) {
	return s.example(ctx, suiteDir, o.withDefaults("suite"), crdAndRights(suiteDir))
}

func crdAndRights(dir string) []string {
	return []string{dir + "/deploy/crd.yaml", dir + "/deploy/rbac.yaml"}
}

// example starts the controller of a folder as the service account that its manifests name,
// with the rights that they give it.
func (s *Server) example(ctx context.Context, dir string, o Options, manifests []string, args ...string) (*Controller, error) {
	program, err := s.builds.of(dir, func() (string, error) { return BuildMain(ctx, dir) })
	if err != nil {
		return nil, err
	}
	objects, err := s.Apply(ctx, "", manifests...)
	if err != nil {
		return nil, err
	}
	args = append(args, "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" {
			return s.controller(ctx, o.Name, program, object.GetNamespace(), object.GetName(), o, args...)
		}
	}
	return nil, fmt.Errorf("none of %v is a ServiceAccount", manifests)
}

// Program starts a controller of another project as a service account. Of the options
// those of limits and workers are not for it.
func (s *Server) Program(ctx context.Context, program, namespace, account string, o Options) (*Controller, error) {
	return s.controller(ctx, o.Name, program, namespace, account, o)
}

// manager starts a kube-controller-manager for one of its controllers, as the
// service account that Kubernetes has a role for.
func (s *Server) manager(ctx context.Context, name, account string, o Options, args ...string) (*Controller, error) {
	program, err := s.builds.of(controllerManager, func() (string, error) { return build(ctx, controllerManager) })
	if err != nil {
		return nil, err
	}
	args = append(args, "--leader-elect=false", "--secure-port=0")
	return s.controller(ctx, name, program, "kube-system", account, o, args...)
}

func (s *Server) controller(ctx context.Context, name, program, namespace, account string, o Options, args ...string) (*Controller, error) {
	config, err := s.Account(ctx, namespace, account)
	if err != nil {
		return nil, err
	}
	if o.Via != nil {
		config = o.Via(config)
	}
	file, err := s.Kubeconfig(name, config)
	if err != nil {
		return nil, err
	}
	args = append([]string{"--kubeconfig=" + file}, args...)
	c := &Controller{dir: s.dir, program: program, metrics: o.metrics, args: append(args, o.Args...), Process: &Process{Name: name}}
	if err := c.Start(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controllers = append(s.controllers, c)
	return c, nil
}

// Kubeconfig writes the configuration of a client into a file in the folder of the server,
// for a program to read.
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
