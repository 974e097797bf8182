// Empty: the compiler accepts functions without a body, such as those of link.go, only in a
// package that has assembly.
