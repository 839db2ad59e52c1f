import type { CauseKind } from './cause-kind.ts';

/** The causes in the cluster: its API, its controllers, its nodes. */
export const CLUSTER_CAUSES = {
  SCHEDULER_PREEMPTION: {
    family: 'interruption',
    title: 'preempted by the scheduler for a pod of higher priority',
    explain:
      'The scheduler needed room for a pod of higher priority and deleted this one, with SIGTERM and the pod’s whole grace. The victim keeps the condition DisruptionTarget/PreemptionByScheduler and, for an hour, the event Preempted. A `preemptionPolicy: Never` on this pod’s PriorityClass does not protect it. A priority that is at least as high does, and so does `Never` on the other pod’s class.',
  },
  API_EVICTION: {
    family: 'interruption',
    title: 'evicted through the API, as by a drain',
    explain:
      'A client called the eviction API: kubectl drain, an autoscaler, a node termination handler, a descheduler or an upgrade of the node pool. The pod gets SIGTERM and its whole grace, and the condition DisruptionTarget/EvictionByEvictionAPI. Usually its node is cordoned at that time.',
  },
  NODE_TAINT: {
    family: 'interruption',
    title: 'deleted because of a NoExecute taint on its node',
    explain:
      'The node got a taint with the effect NoExecute that the pod does not tolerate, or no longer tolerates. A user or a controller set it, or Kubernetes did because the node stopped reporting; where the evidence shows that, the cause is NODE_LOST. The pod is deleted with SIGTERM and its whole grace, and gets the condition DisruptionTarget/DeletionByTaintManager.',
  },
  NODE_LOST: {
    family: 'interruption',
    title: 'deleted because its node was lost',
    explain:
      'The kubelet did not report for the node monitor grace period (50 s; 40 s before 1.32). Kubernetes tainted the node unreachable or not-ready, and deleted the pod 300 s later. The trainer got no notice; if the node comes back, it may have kept training. A Job with a podFailurePolicy waits until the node is back, deleted, or tainted out-of-service.',
  },
  NODE_FAULTY: {
    family: 'interruption',
    title: 'ended because its node reported a fault',
    explain:
      'A condition of the node that the operator was told to watch for (`--fault-conditions`) became true: a broken GPU, a read-only disk, a kernel deadlock. The operator ended the attempt with the whole grace of its pods, and the next one avoids the node. Drain and replace the node, or clear the condition.',
  },
  NODE_DELETED: {
    family: 'interruption',
    title: 'marked failed because its Node object was deleted',
    explain:
      'An autoscaler, a Spot reclaim or a user deleted the Node object. About a minute later the pod garbage collector marked its pods failed, with the condition DisruptionTarget/DeletionByPodGC. The container gets at most two seconds, if its machine still exists.',
  },
  MACHINE_SHUTDOWN: {
    family: 'interruption',
    title: 'ended by a graceful shutdown of its node',
    explain:
      'The kubelet detected that the machine was shutting down and ended the pods. Each pod gets at most its share of shutdownGracePeriod; the pod’s own grace can only shorten it. The pod fails with the reason Terminated and the condition DisruptionTarget/TerminationByKubelet. If it exits with 0 in time, it counts as Succeeded, and its Job as complete.',
  },
  SPOT_RECLAIM: {
    family: 'interruption',
    title: 'ended because its Spot machine was reclaimed',
    explain:
      'The supervisor received the cloud’s notice before the machine was gone, and recorded it in the ledger or the termination message. The cluster itself usually shows the same end as a shutdown, a drain or a deleted node.',
  },
  MEMORY_PRESSURE: {
    family: 'interruption',
    title: 'evicted because its node was short of memory',
    explain:
      'The node’s free memory fell below an eviction threshold, and the kubelet evicted the pod that was furthest above its request. The pod has the reason Evicted and the condition DisruptionTarget/TerminationByKubelet. A hard threshold leaves two seconds, whatever the manifest says. A soft one leaves at most evictionMaxPodGracePeriod, which is 0 by default. If the memory request covers the use, the kubelet evicts other pods first.',
  },
  DISK_PRESSURE: {
    family: 'interruption',
    title: 'evicted because the disk of its node was nearly full',
    explain:
      'The node’s free disk space or inodes fell below an eviction threshold, and the kubelet evicted a pod that uses much of it. Logs, emptyDir volumes and the containers’ own writes count. The pod gets two seconds, whatever the manifest says, and its emptyDir volumes are deleted afterwards. Keep checkpoints on a volume that is not the node’s disk.',
  },
  PID_PRESSURE: {
    family: 'interruption',
    title: 'evicted because its node was short of process IDs',
    explain:
      'The node’s free process IDs fell below an eviction threshold, and the kubelet evicted a pod of low priority with many processes. Data loaders with many workers are the usual reason. The pod gets two seconds.',
  },
  NODE_PRESSURE: {
    family: 'interruption',
    title: 'evicted because its node was short of a resource',
    explain:
      'The kubelet evicted the pod (condition DisruptionTarget/TerminationByKubelet, reason Evicted). The scarce resource is unknown: the message is gone, and the node no longer shows pressure. The pod gets two seconds.',
  },
  CRITICAL_POD: {
    family: 'interruption',
    title: 'ended by its kubelet to make room for a critical pod',
    explain:
      'A static pod or a pod of a system PriorityClass had to run on this node, and the kubelet made room. The pod gets its whole grace and the reason Preempting. This is not preemption by the scheduler. Only a priority of at least two billion protects a pod from it.',
  },
  POD_DELETED: {
    family: 'interruption',
    title: 'deleted through the API; no record says by which client',
    explain:
      'A user, a controller or a script deleted the pod. An eviction, a preemption and a taint set the condition DisruptionTarget before they delete a pod. This pod has none, so a podFailurePolicy that ignores disruptions counts it as a failure. Only the API server’s audit log names the client.',
  },
  OWNER_DELETED: {
    family: 'interruption',
    title: 'deleted because its owner was deleted',
    explain:
      'The Job, the CronJob or the operator’s object that owns the pod was deleted. The garbage collector then deletes the owner’s pods, with their grace.',
  },
  GANG_STOPPED: {
    family: 'interruption',
    title: 'deleted by the operator because another pod of its gang was lost',
    explain:
      'A gang trains together: when one pod is lost, the others wait for it for ever. The operator therefore deletes them, with their whole grace, and creates all of them again. The cause is the end of the lost pod, which the TrainingRun names.',
  },
  JOB_SUSPENDED: {
    family: 'interruption',
    title: 'deleted because its Job was suspended',
    explain:
      'A user suspended the Job, or Kueue did to take its quota back. Kubernetes deletes the Job’s pods with their grace and counts none as failed. They start again when the Job is resumed.',
  },
  JOB_DEADLINE: {
    family: 'limit',
    title: 'deleted because its Job was past activeDeadlineSeconds',
    explain:
      'activeDeadlineSeconds limits the whole time of a Job, including back-off, waiting and repeated work. At the deadline the Job fails for good: its pods are deleted and no pod replaces them. Set it to the length of the training plus the cost of interruptions, or leave it off.',
  },
  JOB_ENDED: {
    family: 'interruption',
    title: 'deleted because its Job was over',
    explain:
      'The Job failed because of another pod (its backoffLimit, its podFailurePolicy, too many failed indexes), or its successPolicy was met. Kubernetes then deletes the pods that are still running.',
  },
  EMPTY_DIR_LIMIT: {
    family: 'limit',
    title: 'evicted because an emptyDir outgrew its sizeLimit',
    explain:
      'An emptyDir volume held more than its sizeLimit. The kubelet ends the pod with two seconds and without the condition DisruptionTarget, so it counts as a failure. If the pod exits with 0 in time, it counts as Succeeded, and only an event shows the cause, for an hour. The volume is deleted with the pod, so do not keep checkpoints there.',
  },
  EPHEMERAL_STORAGE_LIMIT: {
    family: 'limit',
    title: 'evicted because it exceeded its ephemeral-storage limit',
    explain:
      'The containers wrote more to the node’s disk (their file systems, logs, emptyDir volumes) than the limit in the manifest. The pod gets two seconds and no condition DisruptionTarget, and it counts as a failure.',
  },
  OUT_OF_MEMORY: {
    family: 'limit',
    title: 'killed by the kernel at its memory limit',
    explain:
      'The container reached its memory limit and the kernel killed it (reason OOMKilled). There is no SIGTERM and no grace. With cgroup v2 the kernel kills the whole container, including a supervisor. A file in an emptyDir with medium Memory counts as memory, and so does a staged checkpoint.',
  },
  NODE_OUT_OF_MEMORY: {
    family: 'interruption',
    title: 'killed by the kernel because its node was out of memory',
    explain:
      'The whole node was out of memory, and the kernel chose this container before the kubelet could evict a pod. There is no SIGTERM and no grace. Memory requests that match the real use keep a node from being overcommitted.',
  },
} as const satisfies Readonly<Record<string, CauseKind>>;
