package main

import "github.com/jobfate/jobfate/internal/cli"

func main() { cli.Main() }
