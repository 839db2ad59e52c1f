package main

import (
	"maps"
	"slices"
	"strings"
	_ "unsafe" // for the name below

	v1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction"
)

type podStats func(pod *v1.Pod) (stats.PodStats, bool)

type ranking func(pods []*v1.Pod, stats podStats)

// buildSignalToRankFunc is the kubelet's own choice, which it keeps to itself: by signal the ranking that belongs to it, by the layout of the node's disks.
//
//go:linkname buildSignalToRankFunc k8s.io/kubernetes/pkg/kubelet/eviction.buildSignalToRankFunc
func buildSignalToRankFunc(withImageFs bool, imageContainerSplitFs bool) map[string]ranking

type evictCase struct {
	// As in the kubelet's configuration: memory.available, nodefs.inodesFree.
	Signal string `json:"signal"`
	// Whether images have a disk of their own, and whether what containers write is not on that one.
	ImageFs bool                      `json:"imageFs"`
	SplitFs bool                      `json:"splitFs"`
	Pods    []*v1.Pod                 `json:"pods"`
	Stats   map[string]stats.PodStats `json:"stats"`
}

type evictVerdict struct {
	// The names of the pods, first to go first.
	Order []string `json:"order"`
}

func (asked *evictCase) check() error {
	rankings := buildSignalToRankFunc(asked.ImageFs, asked.SplitFs)
	if _, isKnown := rankings[asked.Signal]; !isKnown {
		return refused("evict.signal", asked.Signal, "it must be one of "+strings.Join(slices.Sorted(maps.Keys(rankings)), ", "))
	}
	names, err := namesIn("evict.pods", asked.Pods, func(pod *v1.Pod) string { return pod.Name })
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(asked.Stats)) {
		if !names.Has(name) {
			return refused("evict.stats", name, "its keys must be names of pods of the case")
		}
	}
	return nil
}

func rank(asked *evictCase) (*evictVerdict, error) {
	found := func(pod *v1.Pod) (stats.PodStats, bool) {
		known, isKnown := asked.Stats[pod.Name]
		return known, isKnown
	}
	buildSignalToRankFunc(asked.ImageFs, asked.SplitFs)[asked.Signal](asked.Pods, found)
	return &evictVerdict{namesOf(asked.Pods)}, nil
}
