package server

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// startTime is the longest time until a process is ready.
	startTime = 2 * time.Minute
	// pollTime is the interval at which readiness is checked. No event reports it.
	pollTime = 50 * time.Millisecond

	adminToken = "admin"
)

// Server is a running API server.
type Server struct {
	// Client has all permissions and no limit of requests.
	Client kubernetes.Interface

	dir        string // of this server alone: logs, keys, the data of etcd
	locked     *os.File
	host       string // a loopback address of its own
	etcd       *Process
	api        *Process
	collector  *Controller
	tools      string // the folder of the go.mod whose tool lines are the programs of Kubernetes
	apiProgram string
	builds     programs

	mu          sync.Mutex
	controllers []*Controller // the garbage collector too
}

// Sharing says whether other test binaries of this module may have a server at the same time. [Start] waits until that
// holds.
type Sharing int

// Shared is for most tests, Alone for those that measure.
const (
	Shared Sharing = unix.LOCK_SH
	Alone  Sharing = unix.LOCK_EX
)

// Start builds what is missing, and starts etcd, kube-apiserver and the garbage collector.
func Start(ctx context.Context, with Sharing) (*Server, error) {
	s := &Server{host: Loopback()}
	if err := s.start(ctx, with); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, with Sharing) (err error) {
	if s.locked, err = lock("e2e", int(with)); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "jobfate-e2e-"); err != nil {
		return err
	}
	if err := s.startEtcd(ctx); err != nil {
		return err
	}
	if s.tools, err = programsOf(ctx, *release); err != nil {
		return err
	}
	if s.apiProgram, err = build(ctx, s.tools, apiServer); err != nil {
		return err
	}
	if err := s.writeKeys(); err != nil {
		return err
	}
	if err := s.startAPI(ctx); err != nil {
		return err
	}
	s.collector, err = s.manager(ctx, "generic-garbage-collector", Options{Name: "garbage-collector"},
		"--controllers=garbage-collector-controller")
	return err
}

// startEtcd uses Unix sockets, which no other process can take. The data need not survive a
// crash of the machine, so nothing is synced to disk.
func (s *Server) startEtcd(ctx context.Context) error {
	program, err := build(ctx, ".", etcd)
	if err != nil {
		return err
	}
	s.etcd, err = launch(s.dir, "etcd", program,
		"--name=e2e",
		"--data-dir=data",
		"--listen-client-urls=unix://localhost:0",
		"--advertise-client-urls=unix://localhost:0",
		"--listen-peer-urls=unix://localhost:1",
		"--initial-advertise-peer-urls=unix://localhost:1",
		"--initial-cluster=e2e=unix://localhost:1",
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
	return err
}

// writeKeys creates the key that signs the tokens of service accounts, and the token of the
// administrator.
func (s *Server) writeKeys() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	tokens := adminToken + `,admin,admin,"system:masters"` + "\n"
	return errors.Join(
		os.WriteFile(filepath.Join(s.dir, "account.key"), block, 0o600),
		os.WriteFile(filepath.Join(s.dir, "tokens.csv"), []byte(tokens), 0o600),
	)
}

func (s *Server) startAPI(ctx context.Context, more ...string) error {
	args := []string{
		"--etcd-servers=unix://" + filepath.Join(s.dir, "localhost:0"),
		"--bind-address=" + s.host,
		"--advertise-address=" + s.host,
		"--endpoint-reconciler-type=none", // the default one accepts no loopback address
		"--secure-port=6443",
		"--cert-dir=certificates",
		"--token-auth-file=tokens.csv",
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://jobfate.test",
		"--service-account-key-file=account.key",
		"--service-account-signing-key-file=account.key",
		"--service-cluster-ip-range=10.0.0.0/24",
		// Pods need no service account, because the default one does not exist.
		"--disable-admission-plugins=ServiceAccount",
		// This plugin is off by default, and requires the permission to update finalizers.
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		// Accounts of kube-system would take precedence over all others.
		"--enable-priority-and-fairness=false",
		// Without priority and fairness there is a plain limit, above which requests get 429. A
		// controller that sends 500 requests at once would have to send half of them twice.
		"--max-requests-inflight=2000",
		"--max-mutating-requests-inflight=2000",
	}
	api, err := launch(s.dir, "kube-apiserver", s.apiProgram, append(args, more...)...)
	if err != nil {
		return err
	}
	s.api = api
	if err := Await(ctx, s.ready, s.api, s.etcd); err != nil {
		return fmt.Errorf("the API server is not ready: %w", err)
	}
	return nil
}

// ready checks whether the server is ready. The client can be created only when the server has
// written its certificate, soon after its first start: with an empty file, client-go would trust
// the authorities of the system, and never the server.
func (s *Server) ready(ctx context.Context) error {
	if s.Client == nil {
		pem, err := os.ReadFile(s.certificate())
		if err != nil {
			return err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no certificate yet", s.certificate())
		}
		client, err := kubernetes.NewForConfig(s.Config())
		if err != nil {
			return err
		}
		s.Client = client
	}
	_, err := s.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// Restart kills the API server and starts it again with the same address and objects. It
// returns when the server is ready. Additional flags apply until the next restart.
func (s *Server) Restart(ctx context.Context, flags ...string) error {
	if err := s.awaitCollector(ctx); err != nil {
		return err
	}
	s.api.Kill()
	return s.startAPI(ctx, flags...)
}

// awaitCollector waits until the garbage collector is running. It ends by itself if the server
// is not ready within ten seconds after its start.
func (s *Server) awaitCollector(ctx context.Context) error {
	return Await(ctx, func(context.Context) error {
		if s.collector.Log("all resource monitors have synced", 1) == "" {
			return errors.New("the garbage collector is not ready")
		}
		return nil
	}, s.collector.Process)
}

// Stop ends all processes.
func (s *Server) Stop() error {
	var errs []error
	for _, c := range s.controllers {
		errs = append(errs, c.Err())
		c.Kill()
	}
	for _, p := range []*Process{s.api, s.etcd} {
		if p != nil {
			errs = append(errs, p.Err())
			p.Kill()
		}
	}
	if s.locked != nil {
		s.locked.Close()
	}
	return errors.Join(errs...)
}

// Minor returns the minor version of the server, or the one that it emulates: 37 for 1.37.2.
func (s *Server) Minor() (int, error) {
	version, err := s.Client.Discovery().ServerVersion()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(version.Minor)
}

// Dir returns the folder of the logs.
func (s *Server) Dir() string { return s.dir }

// Config returns the configuration of a client with all permissions and no limit of requests.
func (s *Server) Config() *rest.Config {
	config := s.anonymous()
	config.BearerToken = adminToken
	return config
}

// certificate is the file to which kube-apiserver writes its certificate.
func (s *Server) certificate() string {
	return filepath.Join(s.dir, "certificates", "apiserver.crt")
}

func (s *Server) anonymous() *rest.Config {
	config := &rest.Config{
		Host:            "https://" + s.host + ":6443",
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.certificate()},
		QPS:             -1,
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config
}

// Namespace creates a namespace whose name begins with a prefix.
func (s *Server) Namespace(ctx context.Context, prefix string) (string, error) {
	made, err := s.Client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("making a namespace: %w", err)
	}
	return made.Name, nil
}

// Run runs the tests of a package on their own server, for TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 8, nil)) }
//
// It stores the server in api, and runs that many tests at once; 0 means the default. The function starts the
// controllers that the tests share. If all tests pass the logs are removed; otherwise it prints where they are.
func Run(m *testing.M, api **Server, atOnce int, ready func(context.Context, *Server) error) int {
	return run(m, api, Shared, atOnce, ready)
}

// RunAlone is for tests that measure: no other package has a server while they run.
func RunAlone(m *testing.M, api **Server) int { return run(m, api, Alone, 0, nil) }

func run(m *testing.M, api **Server, with Sharing, atOnce int, ready func(context.Context, *Server) error) int {
	flag.Parse()
	if atOnce > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			panic(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := Start(ctx, with)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*api = s
	if ready != nil {
		if err := ready(ctx, s); err != nil {
			fmt.Fprintln(os.Stderr, err, s.Stop())
			return 1
		}
	}
	code := m.Run()
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "the logs:", s.Dir())
		return code
	}
	os.RemoveAll(s.Dir())
	return 0
}
