package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// leftOut are the plugins that ask about volumes and claims, which no case describes.
var leftOut = sets.New(names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone, names.DynamicResources)

type filterVerdict struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

type victimsOnNode struct {
	Victims    []string `json:"victims"`
	Violations int64    `json:"violations"`
}

type preemptionVerdict struct {
	Code    string   `json:"code"`
	Message string   `json:"message,omitempty"`
	Node    string   `json:"node,omitempty"`
	Victims []string `json:"victims,omitempty"`
	// Those that are less important and lose the promise of the node.
	Unpromised []string `json:"unpromised,omitempty"`
	// What a preemption would cost on each node where it would help.
	Candidates map[string]victimsOnNode `json:"candidates"`
}

type scheduleVerdict struct {
	Filters map[string]filterVerdict `json:"filters"`
	// Of each node that passes: what every plugin gives it, normalised and weighted, and their total. A plugin that has nothing to say gives nothing to anybody.
	Scores     map[string]map[string]int64 `json:"scores,omitempty"`
	Preemption *preemptionVerdict          `json:"preemption,omitempty"`
	// The text of the FailedScheduling event; empty where a node takes the pod.
	Message string `json:"message,omitempty"`
}

// scheduler is the default profile over a snapshot that each case replaces.
type scheduler struct {
	framework framework.Framework
	preemptor *defaultpreemption.DefaultPreemption
	waiting   internalqueue.SchedulingQueue
	snapshot  *internalcache.Snapshot
	pods      cache.Indexer
	budgets   cache.Indexer
	server    *patched
	victims   []string
}

// patched is the server that the plugins' client reaches: it knows nothing, for what they would ask of it is laid into their caches, and notes whose status they change.
type patched struct{ names []string }

func (server *patched) RoundTrip(request *http.Request) (*http.Response, error) {
	name, isStatus := strings.CutSuffix(request.URL.Path, "/status")
	if request.Method != http.MethodPatch || !isStatus {
		return nil, fmt.Errorf("there is no server to %s %s", request.Method, request.URL.Path)
	}
	server.names = append(server.names, path.Base(name))
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(`{"apiVersion": "v1", "kind": "Pod"}`)),
		Request:    request,
	}, nil
}

func newScheduler() (*scheduler, error) {
	metrics.Register()
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := defaults.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(plugin config.Plugin) bool { return leftOut.Has(plugin.Name) })
	server := &patched{}
	client, err := kubernetes.NewForConfig(&rest.Config{Transport: server, QPS: -1})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	factory := informers.NewSharedInformerFactory(client, 0)
	snapshot := internalcache.NewEmptySnapshot()
	waiting := newQueue(factory)
	made, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile, append(releaseOptions(snapshot),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithPodNominator(waiting),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithParallelism(1),
	)...)
	if err != nil {
		return nil, err
	}
	args, err := preemptionArgs(profile)
	if err != nil {
		return nil, err
	}
	preemptor, err := defaultpreemption.New(ctx, args, made, preemptionFeatures())
	if err != nil {
		return nil, err
	}
	answering := &scheduler{
		framework: made,
		preemptor: preemptor,
		waiting:   waiting,
		server:    server,
		snapshot:  snapshot,
		pods:      factory.Core().V1().Pods().Informer().GetIndexer(),
		budgets:   factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer(),
	}
	onPreemption(preemptor, func(victim *v1.Pod) { answering.victims = append(answering.victims, victim.Name) })
	return answering, nil
}

func preemptionArgs(profile config.KubeSchedulerProfile) (*config.DefaultPreemptionArgs, error) {
	for _, each := range profile.PluginConfig {
		if args, isThem := each.Args.(*config.DefaultPreemptionArgs); isThem {
			return args, nil
		}
	}
	return &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}, nil
}

func (s *scheduler) judge(asked *scheduleCase) (*scheduleVerdict, error) {
	if err := s.lay(asked, []*v1.Pod{asked.Pod}); err != nil {
		return nil, err
	}
	for _, pod := range asked.Nominated {
		enqueue(s.waiting, pod)
		defer dequeue(s.waiting, pod)
	}
	ctx, state := context.Background(), framework.NewCycleState()
	diagnosis, feasible, err := s.filter(ctx, state, asked.Pod)
	if err != nil {
		return nil, err
	}
	statuses := diagnosis.NodeToStatus
	verdict := &scheduleVerdict{Filters: map[string]filterVerdict{}}
	for _, node := range asked.Nodes {
		verdict.Filters[node.Name] = told(statuses.Get(node.Name))
	}
	for _, node := range feasible {
		verdict.Filters[node.Node().Name] = filterVerdict{Code: fwk.Success.String()}
	}
	if len(feasible) > 0 {
		verdict.Scores, err = s.score(ctx, state, asked.Pod, feasible)
	} else {
		verdict.Preemption, err = s.preempt(ctx, state, asked, statuses)
		if err == nil {
			diagnosis.PostFilterMsg = verdict.Preemption.Message
			verdict.Message = (&framework.FitError{Pod: asked.Pod, NumAllNodes: len(asked.Nodes), Diagnosis: *diagnosis}).Error()
		}
	}
	return verdict, err
}

// lay puts the cluster of a case, and pods that wait, where the plugins look for them.
func (s *scheduler) lay(asked *scheduleCase, wanted []*v1.Pod) error {
	*s.snapshot = *newSnapshot(asked.Pods, asked.Nodes, asked.Groups)
	if err := s.pods.Replace(objects(slices.Concat(asked.Pods, asked.Nominated, wanted)), ""); err != nil {
		return err
	}
	return s.budgets.Replace(objects(asked.Budgets), "")
}

// filter is what a scheduling cycle does before it scores: which nodes pass, and what is wrong with the others.
func (s *scheduler) filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*framework.Diagnosis, []fwk.NodeInfo, error) {
	diagnosis := &framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	all, err := s.snapshot.NodeInfos().List()
	if err != nil {
		return nil, nil, err
	}
	narrowed, status, narrowing := s.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, nil, status.AsError()
		}
		diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		diagnosis.PreFilterMsg = status.Message()
		return diagnosis, nil, nil
	}
	if !narrowed.AllNodes() {
		reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(narrowing))
		diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason))
	}
	var feasible []fwk.NodeInfo
	for _, node := range all {
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(node.Node().Name) {
			continue
		}
		status := s.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.IsSuccess() {
			feasible = append(feasible, node)
		} else {
			diagnosis.NodeToStatus.Set(node.Node().Name, status)
		}
	}
	return diagnosis, feasible, nil
}

func (s *scheduler) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, feasible []fwk.NodeInfo) (map[string]map[string]int64, error) {
	if status := s.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	found, status := s.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores := map[string]map[string]int64{}
	for _, node := range found {
		scores[node.Name] = map[string]int64{"total": node.TotalScore}
		for _, plugin := range s.framework.ListPlugins().Score.Enabled {
			scores[node.Name][plugin.Name] = 0
		}
		for _, each := range node.Scores {
			scores[node.Name][each.Name] = each.Score
		}
	}
	return scores, nil
}

func (s *scheduler) preempt(ctx context.Context, state fwk.CycleState, asked *scheduleCase, statuses *framework.NodeToStatus) (*preemptionVerdict, error) {
	verdict := &preemptionVerdict{Candidates: map[string]victimsOnNode{}}
	potential, err := statuses.NodesForStatusCode(s.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return nil, err
	}
	if len(potential) > 0 {
		candidates, _, err := s.preemptor.Evaluator.DryRunPreemption(ctx, state, asked.Pod, potential, asked.Budgets, 0, int32(len(potential)))
		if err != nil {
			return nil, err
		}
		for _, candidate := range candidates {
			victims := candidate.Victims()
			verdict.Candidates[candidate.Name()] = victimsOnNode{namesOf(victims.Pods), victims.NumPDBViolations}
		}
	}
	s.victims, s.server.names = nil, nil
	result, status := s.preemptor.PostFilter(ctx, state, asked.Pod, statuses)
	verdict.Code, verdict.Message, verdict.Victims = status.Code().String(), status.Message(), s.victims
	verdict.Unpromised = s.server.names
	slices.Sort(verdict.Victims)
	slices.Sort(verdict.Unpromised)
	if result != nil && result.NominatingInfo != nil {
		verdict.Node = result.NominatedNodeName
	}
	return verdict, nil
}

func told(status *fwk.Status) filterVerdict {
	return filterVerdict{Code: status.Code().String(), Plugin: status.Plugin(), Reasons: status.Reasons()}
}

func namesOf(pods []*v1.Pod) []string {
	found := make([]string, 0, len(pods))
	for _, pod := range pods {
		found = append(found, pod.Name)
	}
	return found
}

func objects[Object any](all []Object) []interface{} {
	found := make([]interface{}, 0, len(all))
	for _, each := range all {
		found = append(found, each)
	}
	return found
}
