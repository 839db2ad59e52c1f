// Command coredns is CoreDNS with what a cluster's DNS needs, and no more: built from its Go module.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// The order in which the plugins see a query.
var directives = []string{"bind", "ready", "errors", "kubernetes"}

func main() {
	dnsserver.Directives = directives
	coremain.Run()
}
