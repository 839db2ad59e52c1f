// Command etcd is etcd itself, built from its Go module; in a module of its own, because Kubernetes wants other versions of what both use.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
