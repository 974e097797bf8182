package main

import (
	"testing"

	"github.com/jobfate/jobfate/examples/internal/trial"
)

var program = trial.Program{
	Name: "jobgroup", Kind: groupVersion.WithKind("JobGroup"), NewScheme: newScheme, Register: register, NewManager: newManager,
}

func TestDeployment(t *testing.T) { program.CheckDeployment(t) }

func TestPermissions(t *testing.T) { program.CheckPermissions(t) }
