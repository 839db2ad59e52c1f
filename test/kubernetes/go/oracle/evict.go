package main

import (
	"fmt"
	"maps"
	"slices"
	_ "unsafe" // for the names below

	v1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction"
)

type podStats func(pod *v1.Pod) (stats.PodStats, bool)

// The kubelet's own rankings, which it keeps to itself.

//go:linkname rankMemoryPressure k8s.io/kubernetes/pkg/kubelet/eviction.rankMemoryPressure
func rankMemoryPressure(pods []*v1.Pod, stats podStats)

//go:linkname rankPIDPressure k8s.io/kubernetes/pkg/kubelet/eviction.rankPIDPressure
func rankPIDPressure(pods []*v1.Pod, stats podStats)

//go:linkname rankDiskPressureFunc k8s.io/kubernetes/pkg/kubelet/eviction.rankDiskPressureFunc
func rankDiskPressureFunc(measured []string, resource v1.ResourceName) func(pods []*v1.Pod, stats podStats)

type ranking func(measured []string) func(pods []*v1.Pod, stats podStats)

// rankings are by signal.
var rankings = map[string]ranking{
	"memory": func([]string) func([]*v1.Pod, podStats) { return rankMemoryPressure },
	"pid":    func([]string) func([]*v1.Pod, podStats) { return rankPIDPressure },
	"disk": func(measured []string) func([]*v1.Pod, podStats) {
		return rankDiskPressureFunc(measured, v1.ResourceEphemeralStorage)
	},
	"inodes": func(measured []string) func([]*v1.Pod, podStats) { return rankDiskPressureFunc(measured, "inodes") },
}

// places are where what counts as a pod's use of a disk may lie.
var places = []string{"localVolumeSource", "logs", "root"}

type evictCase struct {
	Signal string `json:"signal"`
	// Of the places those that count, for disk and inodes.
	Measured []string                  `json:"measured"`
	Pods     []*v1.Pod                 `json:"pods"`
	Stats    map[string]stats.PodStats `json:"stats"`
}

type evictVerdict struct {
	// The names of the pods, first to go first.
	Order []string `json:"order"`
}

func (asked *evictCase) check() error {
	if _, isKnown := rankings[asked.Signal]; !isKnown {
		return refused("evict.signal", asked.Signal, "it must be one of memory, pid, disk, inodes")
	}
	for index, place := range asked.Measured {
		if !slices.Contains(places, place) || slices.Contains(asked.Measured[:index], place) {
			return refused(fmt.Sprintf("evict.measured[%d]", index), place, "it must be one of localVolumeSource, logs, root, each once")
		}
	}
	if len(asked.Measured) == 0 && (asked.Signal == "disk" || asked.Signal == "inodes") {
		return refused("evict.measured", asked.Measured, "for disk and inodes it must name what counts")
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
	rankings[asked.Signal](asked.Measured)(asked.Pods, found)
	return &evictVerdict{namesOf(asked.Pods)}, nil
}
