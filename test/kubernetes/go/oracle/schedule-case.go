package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type scheduleCase struct {
	// The one that is to be placed.
	Pod   *v1.Pod    `json:"pod"`
	Nodes []*v1.Node `json:"nodes"`
	// Those on the nodes.
	Pods []*v1.Pod `json:"pods"`
	// Those that wait for a node which is promised to them.
	Nominated []*v1.Pod                     `json:"nominated"`
	Budgets   []*policy.PodDisruptionBudget `json:"budgets"`
	Groups    []*podGroup                   `json:"groups"`
}

func (asked *scheduleCase) check() error {
	if asked.Pod == nil {
		return refused("schedule.pod", asked.Pod, "it must be a pod")
	}
	nodes, err := namesIn("schedule.nodes", asked.Nodes, func(node *v1.Node) string { return node.Name })
	if err != nil {
		return err
	}
	if _, err := namesIn("schedule.budgets", asked.Budgets, func(budget *policy.PodDisruptionBudget) string { return budget.Name }); err != nil {
		return err
	}
	if err := checkGroups(asked.Groups); err != nil {
		return err
	}
	uids := sets.New[string]()
	names := sets.New[string]()
	known := func(at string, pod *v1.Pod) error {
		if pod == nil {
			return refused(at, pod, "it must be a pod")
		}
		name := pod.Namespace + "/" + pod.Name
		if pod.Name == "" || names.Has(name) {
			return refused(at+".metadata.name", pod.Name, "it must be there, and no other pod's of its namespace")
		}
		if pod.UID == "" || uids.Has(string(pod.UID)) {
			return refused(at+".metadata.uid", pod.UID, "it must be there, and no other pod's")
		}
		names.Insert(name)
		uids.Insert(string(pod.UID))
		if _, err := framework.NewPodInfo(pod); err != nil {
			return refused(at+".spec.affinity", pod.Spec.Affinity, err.Error())
		}
		return nil
	}
	if err := known("schedule.pod", asked.Pod); err != nil {
		return err
	}
	for index, pod := range asked.Pods {
		at := fmt.Sprintf("schedule.pods[%d]", index)
		if err := known(at, pod); err != nil {
			return err
		}
		if !nodes.Has(pod.Spec.NodeName) {
			return refused(at+".spec.nodeName", pod.Spec.NodeName, "it must be the name of a node of the case")
		}
	}
	for index, pod := range asked.Nominated {
		at := fmt.Sprintf("schedule.nominated[%d]", index)
		if err := known(at, pod); err != nil {
			return err
		}
		if pod.Spec.NodeName != "" {
			return refused(at+".spec.nodeName", pod.Spec.NodeName, "whoever is on a node is not nominated any more")
		}
		if !nodes.Has(pod.Status.NominatedNodeName) {
			return refused(at+".status.nominatedNodeName", pod.Status.NominatedNodeName, "it must be the name of a node of the case")
		}
	}
	return nil
}

// namesIn are the names of objects, each of which must be there and have one of its own.
func namesIn[Object any](at string, all []*Object, nameOf func(*Object) string) (sets.Set[string], error) {
	names := sets.New[string]()
	for index, each := range all {
		if each == nil {
			return nil, refused(fmt.Sprintf("%s[%d]", at, index), each, "it must be an object")
		}
		name := nameOf(each)
		if name == "" || names.Has(name) {
			return nil, refused(fmt.Sprintf("%s[%d].metadata.name", at, index), name, "it must be there, and no other one's")
		}
		names.Insert(name)
	}
	return names, nil
}
