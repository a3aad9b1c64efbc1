package toolset

import "golang.org/x/sys/unix"

// isProcfs says whether path, which is no link, lies on a procfs, or cannot be asked about.
func isProcfs(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) != nil || int64(st.Type) == unix.PROC_SUPER_MAGIC
}
