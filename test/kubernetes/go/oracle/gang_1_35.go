//go:build !kubernetes137

package main

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// podGroup is an object that this release does not have.
type podGroup struct{ Name string }

var errNoGroups = errors.New("this release has no PodGroups as the later ones have")

func checkGroups(groups []*podGroup) error {
	if len(groups) > 0 {
		return errNoGroups
	}
	return nil
}

func newSnapshot(pods []*v1.Pod, nodes []*v1.Node, _ []*podGroup) *internalcache.Snapshot {
	return internalcache.NewSnapshot(pods, nodes)
}

func preemptionFeatures() feature.Features { return feature.Features{} }

func (s *scheduler) judgeGang(*gangCase) (*gangVerdict, error) { return nil, errNoGroups }
