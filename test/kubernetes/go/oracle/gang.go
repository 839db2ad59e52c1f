package main

import (
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
)

// gangCase asks about members of a PodGroup that come together.
type gangCase struct {
	// The name of their PodGroup, which is one of the groups.
	Group   string                        `json:"group"`
	Members []*v1.Pod                     `json:"members"`
	Groups  []*podGroup                   `json:"groups"`
	Nodes   []*v1.Node                    `json:"nodes"`
	Pods    []*v1.Pod                     `json:"pods"`
	Budgets []*policy.PodDisruptionBudget `json:"budgets"`
}

type gangVerdict struct {
	// The node of each member that gets one, before anything is evicted.
	Placed map[string]string `json:"placed"`
	// Why too few members have a node; empty when enough of them do.
	Shortfall  string          `json:"shortfall,omitempty"`
	Preemption *gangPreemption `json:"gangPreemption,omitempty"`
}

type gangPreemption struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	// The node that is promised to each member.
	Nodes   map[string]string `json:"nodes,omitempty"`
	Victims []string          `json:"victims,omitempty"`
}

func (asked *gangCase) check() error {
	if len(asked.Members) == 0 {
		return refused("gang.members", asked.Members, "it must have a pod")
	}
	whole := &scheduleCase{Pod: asked.Members[0], Nodes: asked.Nodes, Pods: asked.Pods, Budgets: asked.Budgets, Groups: asked.Groups}
	if err := whole.check(); err != nil {
		return err
	}
	for _, group := range asked.Groups {
		if group.Name == asked.Group {
			return nil
		}
	}
	return refused("gang.group", asked.Group, "it must be the name of a group of the case")
}
