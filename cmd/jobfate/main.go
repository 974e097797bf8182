package main

import "github.com/jobfate/jobfate/cmd/internal/cli"

func main() { cli.Main() }
