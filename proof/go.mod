module github.com/jobfate/jobfate/proof

go 1.24.0
