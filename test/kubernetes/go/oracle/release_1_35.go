//go:build !kubernetes137

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// releaseOptions are what only this release needs.
func releaseOptions(*internalcache.Snapshot) []frameworkruntime.Option { return nil }

// newQueue makes the queue of those that wait. None is ever taken out of it, so its order does not count.
func newQueue(factory informers.SharedInformerFactory) internalqueue.SchedulingQueue {
	return internalqueue.NewSchedulingQueue(func(_, _ fwk.QueuedPodInfo) bool { return false }, factory)
}

func enqueue(queue internalqueue.SchedulingQueue, pod *v1.Pod) { queue.Add(klog.Background(), pod) }

func dequeue(queue internalqueue.SchedulingQueue, pod *v1.Pod) { queue.Delete(pod) }

// onPreemption has each victim told instead of deleted.
func onPreemption(preemptor *defaultpreemption.DefaultPreemption, tell func(*v1.Pod)) {
	preemptor.Evaluator.PreemptPod = func(_ context.Context, _ preemption.Candidate, _, victim *v1.Pod, _ string) error {
		tell(victim)
		return nil
	}
}
