//go:build kubernetes137

package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1beta1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

type podGroup = scheduling.PodGroup

func hasGroups() bool { return utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) }

func checkGroups(groups []*podGroup) error {
	if len(groups) > 0 && !hasGroups() {
		return fmt.Errorf("the program was started without %s", features.GenericWorkload)
	}
	_, err := namesIn("groups", groups, func(group *podGroup) string { return group.Name })
	return err
}

func newSnapshot(pods []*v1.Pod, nodes []*v1.Node, groups []*podGroup) *internalcache.Snapshot {
	return internalcache.NewTestSnapshotWithPodGroups(pods, nodes, groups)
}

// preemptionFeatures leaves the asynchronous preemption out: its victims are known before it answers.
func preemptionFeatures() feature.Features {
	return feature.Features{EnableGenericWorkload: hasGroups()}
}

// proposed is a member on the node that it gets, as the scheduler hands it to its preemption.
type proposed struct {
	info  *framework.PodInfo
	node  string
	state fwk.CycleState
}

func (member *proposed) GetPod() *v1.Pod               { return member.info.Pod }
func (member *proposed) GetPodInfo() fwk.PodInfo       { return member.info }
func (member *proposed) GetNodeName() string           { return member.node }
func (member *proposed) GetCycleState() fwk.CycleState { return member.state }

func (s *scheduler) judgeGang(asked *gangCase) (*gangVerdict, error) {
	if err := s.lay(&scheduleCase{Nodes: asked.Nodes, Pods: asked.Pods, Budgets: asked.Budgets, Groups: asked.Groups}, asked.Members); err != nil {
		return nil, err
	}
	index := slices.IndexFunc(asked.Groups, func(group *podGroup) bool { return group.Name == asked.Group })
	group := asked.Groups[index]
	info := &framework.PodGroupInfo{Namespace: group.Namespace, Name: group.Name, Type: fwk.PodGroupKeyType, UnscheduledPods: asked.Members, PodGroup: group}
	ctx := context.Background()
	members, status := s.placeGang(ctx, asked.Nodes, info)
	if status.IsError() {
		return nil, status.AsError()
	}
	verdict := &gangVerdict{Placed: nodesOf(members)}
	if status.IsSuccess() {
		return verdict, nil
	}
	verdict.Shortfall = status.Message()
	s.victims = nil
	result, status := s.preemptor.PodGroupPostFilter(ctx, framework.NewCycleState(), info, func(ctx context.Context) (*fwk.PodGroupAssignments, *fwk.Status) {
		again, status := s.placeGang(ctx, asked.Nodes, info)
		assignments := &fwk.PodGroupAssignments{}
		for _, member := range again {
			assignments.ProposedAssignments = append(assignments.ProposedAssignments, member)
		}
		return assignments, status
	})
	verdict.Preemption = &gangPreemption{Code: status.Code().String(), Message: status.Message(), Victims: s.victims}
	slices.Sort(verdict.Preemption.Victims)
	if result != nil {
		verdict.Preemption.Nodes = map[string]string{}
		for key, nominated := range result.NominatingInfos {
			verdict.Preemption.Nodes[key.Name] = nominated.NominatedNodeName
		}
	}
	return verdict, nil
}

// placeGang places the members one by one, each beside those before it, as the scheduler's cycle for a PodGroup does, and takes them off again. Of nodes with the same
// score it takes the first one of the case, where the scheduler takes any.
func (s *scheduler) placeGang(ctx context.Context, nodes []*v1.Node, group *framework.PodGroupInfo) (members []*proposed, status *fwk.Status) {
	known, err := s.snapshot.PodGroupStates().Get(group.Namespace, group.Name)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	placement := framework.NewCycleState()
	placement.SetPodGroupSchedulingCycle(framework.NewCycleState())
	progress := framework.PlacementProgress{Remaining: len(group.UnscheduledPods), Scheduled: known.ScheduledPodsCount()}
	if status = s.framework.RunPlacementFeasiblePlugins(ctx, placement, group, progress); status.IsError() || status.Code() == fwk.Unschedulable {
		return nil, status
	}
	var assumed []*v1.Pod
	defer func() {
		for _, pod := range slices.Backward(assumed) {
			if err := s.snapshot.ForgetPod(klog.Background(), pod); err != nil {
				status = fwk.AsStatus(err)
			}
		}
	}()
	for _, pod := range group.UnscheduledPods {
		state := framework.NewCycleState()
		state.SetPodGroupSchedulingCycle(placement.GetPodGroupSchedulingCycle())
		state.SetPlacementCycleState(placement)
		node, err := s.bestNode(ctx, state, pod, nodes)
		if err != nil {
			return nil, fwk.AsStatus(err)
		}
		progress.Remaining--
		if node != "" {
			progress.Scheduled++
			info, _ := framework.NewPodInfo(pod)
			members = append(members, &proposed{info, node, state})
			there := pod.DeepCopy()
			there.Spec.NodeName = node
			placed, _ := framework.NewPodInfo(there)
			if err := s.snapshot.AssumePod(placed); err != nil {
				return nil, fwk.AsStatus(err)
			}
			assumed = append(assumed, there)
		}
		if status = s.framework.RunPlacementFeasiblePlugins(ctx, placement, group, progress); status.IsError() || status.Code() == fwk.Unschedulable {
			return members, status
		}
	}
	if status.IsWait() {
		status = fwk.NewStatus(fwk.Unschedulable, status.Reasons()...)
	}
	return members, status
}

// bestNode is the node that takes a pod; empty when none does.
func (s *scheduler) bestNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []*v1.Node) (string, error) {
	_, feasible, err := s.filter(ctx, state, pod)
	if err != nil || len(feasible) == 0 {
		return "", err
	}
	scores, err := s.score(ctx, state, pod, feasible)
	if err != nil {
		return "", err
	}
	best := ""
	for _, node := range nodes {
		row, isFeasible := scores[node.Name]
		if isFeasible && (best == "" || row["total"] > scores[best]["total"]) {
			best = node.Name
		}
	}
	return best, nil
}

func nodesOf(members []*proposed) map[string]string {
	found := map[string]string{}
	for _, member := range members {
		found[member.GetPod().Name] = member.node
	}
	return found
}
