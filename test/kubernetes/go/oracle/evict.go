package main

import (
	"fmt"
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

type evictCase struct {
	// memory, pid, disk or inodes.
	Signal string `json:"signal"`
	// What counts as a pod's use of a disk: localVolumeSource, logs, root.
	Measured []string                  `json:"measured"`
	Pods     []*v1.Pod                 `json:"pods"`
	Stats    map[string]stats.PodStats `json:"stats"`
}

type evictVerdict struct {
	// The names of the pods, first to go first.
	Order []string `json:"order"`
}

func rank(asked *evictCase) (*evictVerdict, error) {
	found := func(pod *v1.Pod) (stats.PodStats, bool) {
		known, isKnown := asked.Stats[pod.Name]
		return known, isKnown
	}
	switch asked.Signal {
	case "memory":
		rankMemoryPressure(asked.Pods, found)
	case "pid":
		rankPIDPressure(asked.Pods, found)
	case "disk":
		rankDiskPressureFunc(asked.Measured, v1.ResourceEphemeralStorage)(asked.Pods, found)
	case "inodes":
		rankDiskPressureFunc(asked.Measured, "inodes")(asked.Pods, found)
	default:
		return nil, fmt.Errorf("there is no signal %q", asked.Signal)
	}
	return &evictVerdict{namesOf(asked.Pods)}, nil
}
