package jobfate_test

import (
	_ "github.com/google/go-cmp/cmp"
	_ "k8s.io/api/batch/v1"
	_ "k8s.io/apimachinery/pkg/util/yaml"
	_ "k8s.io/apimachinery/pkg/api/validation"
	_ "pgregory.net/rapid"
)
