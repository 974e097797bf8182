package live_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/controller/live"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// README.md shows these tests.

func TestBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := kube.New(kube.Options{Kinds: []kube.Kind{backupKind}})
		live.Start(t, server.Config(), live.Pods(live.Fail(1).Times(2), live.Succeed().After(time.Hour)))
		user := startOperator(t, server.Config())
		backup := &Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}}
		NoError(t, user.Create(t.Context(), backup))
		time.Sleep(2 * time.Hour)
		NoError(t, user.Get(t.Context(), client.ObjectKeyFromObject(backup), backup))
		if backup.Status.Phase != "Complete" || backup.Status.Tries != 3 {
			t.Errorf("got %+v, want it complete after 3 tries", backup.Status)
		}
	})
}

// cfg is the config of one server for all tests of a package, as with envtest.
var cfg = kube.New(kube.Options{Kinds: []kube.Kind{backupKind}}).Config()

func TestBackupFails(t *testing.T) {
	jobs := live.Start(t, cfg, live.Pods(live.Fail(1)), live.Backoff(time.Millisecond), live.BatchPeriod(time.Millisecond))
	user := startOperator(t, cfg)
	backup := &Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "weekly-"}}
	NoError(t, user.Create(t.Context(), backup))
	jobs.Ended("default", backup.Name, time.Minute)
	for backup.Status.Phase != "Failed" {
		time.Sleep(time.Millisecond)
		NoError(t, user.Get(t.Context(), client.ObjectKeyFromObject(backup), backup))
	}
}
