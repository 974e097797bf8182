// Package repository has no code, only tests of the repository: what the main module requires and how large
// it is, the pictures in docs/architecture.md, the public API in the folder api, and that the functions, tests
// and commands that the documents name exist.
package repository
