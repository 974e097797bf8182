package main

import (
	"go/ast"
	"go/token"
)

// checkSize looks at the length of a file and, outside tests, of its functions.
func checkSize(f *sourceFile, out *findings) {
	long(out, token.Position{Filename: f.path, Line: 1}, "file size", f.path, f.lines, limits.file.warn, limits.file.fail)
	if f.test {
		return
	}
	for _, decl := range f.tree.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			start := f.at(fn.Pos())
			lines := f.at(fn.End()).Line - start.Line + 1
			long(out, start, "function size", fn.Name.Name, lines, limits.function.warn, limits.function.fail)
		}
	}
}

func long(out *findings, pos token.Position, rule, name string, lines, warn, fail int) {
	if lines <= warn {
		return
	}
	out.add(pos, rule, "%s has %d lines; above %d it does more than one thing, above %d the check fails", name, lines, warn, fail)
	(*out)[len(*out)-1].warning = lines <= fail
}
