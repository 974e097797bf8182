package chaos

import (
	"math/rand/v2"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest"
)

// Job returns a small Job, with at most 4 completions, that uses some features of Jobs. The API
// server accepts it.
func Job(seed uint64) *batchv1.Job {
	job := &batchv1.Job{}
	job.Name = "job"
	job.Spec = jobtest.SmallSpec(dice(seed, 1), corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}}}, 4)
	return job
}

func dice(seed, part uint64) jobtest.Seeded {
	return jobtest.Seeded{Rand: rand.New(rand.NewPCG(seed, part))}
}
