//go:build !linux

package toolset

// isProcfs is for systems whose files are never another process's.
func isProcfs(string) bool { return false }
